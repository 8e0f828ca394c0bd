// Perfetto's trace processor, compiled to WebAssembly, outside a browser. Its worker (engine_bundle.js) runs in a
// context that looks like that of a web worker, and is talked to as the user interface talks to it: `TraceProcessorRpc`
// of protos/perfetto/trace_processor/trace_processor.proto.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import vm from 'node:vm';
import { Message, read } from './protobuf.mjs';

// TraceProcessorMethod.
const APPEND = 1, FINALIZE = 2, QUERY = 3;
// CellsBatch.CellType.
const [NULL, VARINT, FLOAT, STRING] = [1, 2, 3, 4];
// A trace goes over in pieces of so many bytes.
const PIECE = 16 << 20;

export class Processor {
    #port; #Bytes; #seq = 0; #waiting = new Map(); #rest = new Uint8Array();

    // The worker of the folder that has it.
    static async in(folder) {
        const self = { location: { href: 'file:///' } };
        // The module is asked for by its name.
        class XMLHttpRequest {
            open(_, name) { this.response = readFileSync(join(folder, name)); }
            send() {}
        }
        const context = vm.createContext({
            self, XMLHttpRequest, WorkerGlobalScope: class {}, performance, setTimeout, TextDecoder, TextEncoder, crypto, URL,
            console: { log() {}, warn() {}, error: console.error },
        });
        vm.runInContext(readFileSync(join(folder, 'engine_bundle.js'), 'utf8'), context);
        const processor = new Processor();
        processor.#Bytes = vm.runInContext('Uint8Array', context);
        processor.#port = { postMessage: bytes => processor.#reply(bytes) };
        self.onmessage({ data: processor.#port });
        // It is ready when what it has put off is done.
        await new Promise(done => setTimeout(done, 0));
        return processor;
    }

    async open(path) {
        const trace = readFileSync(path);
        for (let at = 0; at < trace.length; at += PIECE) {
            const reply = await this.#ask(APPEND, 101, trace.subarray(at, at + PIECE));
            const failed = reply.message(201)?.text(2);
            if (failed) throw new Error(failed);
        }
        await this.#ask(FINALIZE);
    }

    // The rows of a statement, as objects by column.
    async query(sql) {
        const rows = [];
        let columns = [], error;
        await this.#ask(QUERY, 103, new Message().bytes(1, Buffer.from(sql)).done(), reply => {
            const result = reply.message(203);
            if (result.texts(1).length) columns = result.texts(1);
            error ||= result.text(2);
            const batches = result.messages(3);
            for (const batch of batches) rows.push(...cells(batch, columns.length));
            return batches.length === 0 || batches.at(-1).number(6) === 1;
        });
        if (error) throw new Error(error);
        return rows.map(row => Object.fromEntries(columns.map((name, n) => [name, row[n]])));
    }

    // One request; `last` says of a reply whether no other follows.
    #ask(method, field, bytes, last = () => true) {
        const seq = ++this.#seq;
        const rpc = new Message().number(1, seq).number(2, method);
        if (field) rpc.bytes(field, bytes);
        const stream = new Message().bytes(1, rpc.done()).done();
        return new Promise((done, failed) => {
            this.#waiting.set(method, { done, failed, last });
            this.#port.onmessage({ data: this.#Bytes.from(stream) });
        });
    }

    #reply(bytes) {
        const stream = Buffer.concat([this.#rest, Buffer.from(bytes)]);
        const { fields, rest } = read(stream);
        this.#rest = rest;
        for (const reply of fields.messages(1)) {
            const waits = this.#waiting.get(reply.number(3));
            const fatal = reply.text(5);
            if (fatal) waits?.failed(new Error(fatal));
            else if (waits?.last(reply)) waits.done(reply);
        }
    }
}

function cells(batch, width) {
    const [ints, floats] = [batch.packed(2), batch.doubles(3)];
    const strings = batch.text(5)?.split('\0') ?? [];
    const value = type => {
        switch (type) {
            case VARINT: return Number(BigInt.asIntN(64, ints.shift()));
            case FLOAT: return floats.shift();
            case STRING: return strings.shift();
            case NULL: return null;
            default: throw new Error(`a cell of type ${type}`);
        }
    };
    const values = batch.packed(1).map(type => value(Number(type)));
    const rows = [];
    for (let at = 0; at < values.length; at += width) rows.push(values.slice(at, at + width));
    return rows;
}
