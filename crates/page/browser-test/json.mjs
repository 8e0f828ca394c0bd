// What a command prints as JSON against what its page saves as CSV.
import assert from "node:assert/strict";

const close = (csv, json, what) => {
  const found = csv === "" ? null : Number(csv);
  const same = found === null || json === null ? found === json : Math.abs(found - json) <= 1e-9 * Math.max(1, Math.abs(json));
  assert.ok(same, `${what}: ${csv} in the CSV, ${json} in JSON`);
};

function comparison(csv, json, sides) {
  const rows = csv.get("comparison-chart");
  assert.equal(rows.length, json.rows.length);
  for (const [i, row] of rows.entries()) {
    const one = json.rows[i];
    assert.equal(row.load, one.load);
    close(row.base, one.base.mean, "base");
    close(row.with, one.with.mean, "with");
    close(row.better_pct, one.compare_pct, "compare_pct");
    close(row.p, one.p_holm, "p_holm");
  }
  const rates = csv.get("search-chart").filter((row) => row.source !== "published" && row.statistic !== "looks");
  for (const row of rates) {
    const { search } = json.rows.find((one) => one.load === row.load)[["base", "with"][sides.indexOf(row.side)]];
    close(row.value, search[`${row.statistic}_pct`], `${row.side} ${row.load} ${row.statistic}`);
  }
  const power = csv.get("power-chart") ?? [];
  const told = json.rows.flatMap((one) => one.power);
  assert.equal(power.length, told.length);
  for (const [i, row] of power.entries()) {
    close(row.with, told[i].with, told[i].quantity);
    close(row.better_pct, told[i].compare_pct, told[i].quantity);
    close(row.better_low_pct, told[i].ci95?.[0] ?? null, told[i].quantity);
  }
  return `${rows.length} differences and ${rates.length} search statistics are those of the JSON`;
}

function stats(csv, json) {
  const { reasons } = json.runs[0];
  const rows = csv.get("reasons-chart").filter((row) => row.side === csv.get("reasons-chart")[0].side);
  for (const row of rows) close(row.wakeups, reasons[row.reason] ?? 0, row.reason);
  return `${rows.length} reasons are those of the JSON`;
}

function reproduce(csv, json) {
  const simulated = json.tables.flatMap((table) => table.rows).filter((row) => row.simulated_compare_pct !== null);
  const rows = csv.get("comparison-chart");
  assert.equal(rows.length, simulated.length);
  // The page has regressions first.
  const pairs = (all, a, b) => all.map((row) => [Number(row[a]), Number(row[b])]).sort((x, y) => x[0] - y[0] || x[1] - y[1]);
  assert.deepEqual(pairs(rows, "better_pct", "published_pct"), pairs(simulated, "simulated_compare_pct", "published_compare_pct"));
  return `${rows.length} simulated and published differences are those of the JSON`;
}

export function sameAsJson(name, csv, json, sides) {
  return { compare: comparison, power: comparison, "stats-simulated": stats, reproduce }[name](csv, json, sides);
}
