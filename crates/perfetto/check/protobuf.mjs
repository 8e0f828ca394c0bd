// As much of protobuf's wire format as the trace processor's messages take.

function varint(value) {
    const bytes = [];
    for (let left = BigInt(value); ; left >>= 7n) {
        if (left < 128n) return Buffer.from([...bytes, Number(left)]);
        bytes.push(Number(left & 127n) | 128);
    }
}

// A message that is written.
export class Message {
    #parts = [];

    number(field, value) {
        this.#parts.push(varint(field << 3), varint(value));
        return this;
    }

    bytes(field, value) {
        this.#parts.push(varint((field << 3) | 2), varint(value.length), value);
        return this;
    }

    done() {
        return Buffer.concat(this.#parts);
    }
}

// A message that was read: its fields by number, each a list.
class Fields {
    #by = new Map();

    add(field, value) {
        this.#by.set(field, [...(this.#by.get(field) ?? []), value]);
    }

    #all(field) {
        return this.#by.get(field) ?? [];
    }

    number(field) {
        const value = this.#all(field).at(-1);
        return value === undefined ? undefined : Number(value);
    }

    texts(field) {
        return this.#all(field).map(bytes => bytes.toString('utf8'));
    }

    text(field) {
        return this.texts(field).at(-1);
    }

    messages(field) {
        return this.#all(field).map(bytes => read(bytes).fields);
    }

    message(field) {
        return this.messages(field).at(-1);
    }

    packed(field) {
        const values = [];
        for (const bytes of this.#all(field)) {
            for (let at = 0; at < bytes.length; ) {
                const [value, next] = readVarint(bytes, at);
                values.push(value);
                at = next;
            }
        }
        return values;
    }

    doubles(field) {
        const of = bytes => Array.from({ length: bytes.length / 8 }, (_, n) => bytes.readDoubleLE(8 * n));
        return this.#all(field).flatMap(of);
    }
}

function readVarint(bytes, at) {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
        if (at >= bytes.length) return [undefined, at];
        const byte = bytes[at++];
        value |= BigInt(byte & 127) << shift;
        if (byte < 128) return [value, at];
    }
}

// The fields of a buffer, and what of it is no whole field.
export function read(bytes) {
    const fields = new Fields();
    let at = 0;
    while (at < bytes.length) {
        const [key, start] = readVarint(bytes, at);
        if (key === undefined) break;
        const wire = Number(key & 7n);
        let [value, end] = [undefined, start];
        if (wire === 0) {
            [value, end] = readVarint(bytes, start);
        } else {
            const [length, from] = wire === 2 ? readVarint(bytes, start) : [wire === 1 ? 8n : 4n, start];
            end = from + Number(length ?? bytes.length);
            value = end <= bytes.length ? bytes.subarray(from, end) : undefined;
        }
        if (value === undefined) break;
        fields.add(Number(key >> 3n), value);
        at = end;
    }
    return { fields, rest: bytes.subarray(at) };
}
