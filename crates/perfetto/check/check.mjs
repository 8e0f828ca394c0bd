// check.mjs PROCESSOR TRACE EXPECTED [RESULT]: what Perfetto's trace processor, in the folder PROCESSOR, makes of a
// trace, against what the recording's own tables say (EXPECTED, of the example running_times) and, of a simulated run,
// its result (RESULT, the JSON of `wakelab compare`, side base).
import { readFileSync } from 'node:fs';
import { Processor } from './processor.mjs';

const [folder, trace, expected, result] = process.argv.slice(2);
const json = path => JSON.parse(readFileSync(path, 'utf8'));
const failures = [];
const same = (what, found, wanted) => {
    if (found !== wanted) failures.push(`${what}: ${found} in the trace, expected ${wanted}`);
};

async function check(processor) {
    const one = async sql => Object.values((await processor.query(sql))[0])[0];
    const told = json(expected);

    const errors = await processor.query(
        "SELECT name, idx, value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0");
    for (const { name, idx, value } of errors) failures.push(`stats: ${name} ${idx ?? ''} is ${value}`);

    same('switches', await one('SELECT count(*) FROM sched'), told.switches);
    // A slice that ends with the trace has no length.
    const times = await processor.query(
        'SELECT tid, sum(dur) AS ns FROM sched JOIN thread USING (utid) WHERE dur >= 0 GROUP BY tid HAVING ns > 0');
    const running = Object.fromEntries(times.map(({ tid, ns }) => [tid, ns]));
    for (const tid of new Set([...Object.keys(running), ...Object.keys(told.running_ns)])) {
        same(`ns for which thread ${tid} ran`, running[tid] ?? 0, told.running_ns[tid] ?? 0);
    }
    const states = await one("SELECT sum(dur) FROM thread_state JOIN thread USING (utid) WHERE state = 'Running' AND dur >= 0 AND tid != 0");
    const all = Object.entries(told.running_ns).reduce((sum, [tid, ns]) => sum + (tid === '0' ? 0 : ns), 0);
    same('ns of the state Running', states ?? 0, all);

    // Each search that is followed ends where its wakee runs, and not before it began.
    same('flows that go back', await one(
        'SELECT count(*) FROM flow f JOIN slice a ON a.id = f.slice_out JOIN slice b ON b.id = f.slice_in WHERE b.ts < a.ts'), 0);
    if (result) await simulated(one, json(result));
    return told.switches;
}

// The run was measured from its beginning on.
async function simulated(one, { experiment, rows: [{ base: side }] }) {
    const searches = name => one(
        `SELECT sum(extract_arg(arg_set_id, 'debug.${name}')) FROM slice WHERE name != 'runs' AND name != 'slow'`);
    for (const name of ['sis_domain_search', 'sis_failed']) same(name, await searches(name), side.search[name]);
    const wakers = await one("SELECT count(*) FROM thread_state WHERE waker_utid IS NOT NULL");
    if (!(wakers > 0)) failures.push('no state has a waker');
    if (!side.power) return;
    const power = await one(`
        SELECT sum(value * len) / sum(len) FROM (
            SELECT value, lead(ts, 1, ${experiment.settle_ns + experiment.time_ns}) OVER (PARTITION BY track_id ORDER BY ts) - ts AS len
            FROM counter JOIN track ON track.id = track_id WHERE track.name GLOB 'power of package *')`);
    const packages = await one("SELECT count(*) FROM track WHERE name GLOB 'power of package *'");
    if (Math.abs(power * packages / side.power.total_mw - 1) > 0.001) {
        failures.push(`power: ${power * packages} mW in the trace, expected ${side.power.total_mw}`);
    }
}

try {
    const processor = await Processor.in(folder);
    await processor.open(trace);
    const switches = await check(processor);
    for (const failure of failures.slice(0, 20)) console.error(`${trace}: ${failure}`);
    if (failures.length === 0) console.log(`${trace}: ${switches} switches as the trace processor has them`);
    process.exitCode = failures.length ? 1 : 0;
} catch (error) {
    // The stack of an error of the bundle is its one line of 150 kB.
    console.error(`${trace}: ${String(error.message).slice(0, 500)}`);
    process.exitCode = 1;
}
