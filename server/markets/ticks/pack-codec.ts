// Packs the changes of the fast values of one block of records over a period (README.md). The values at its start are
// included, so a pack can be read alone, forwards and backwards.
//
// 1. `unpack(pack(…))` gives the same changes, so packs can be merged into one of a longer period without loss.
// 2. The changes of one record are read without those of the others.
// 3. Bytes that are not a pack throw a RangeError.
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { ByteReader, ByteWriter } from './bytes.ts'
import { type FastValue, readValues, writeValues } from './fast-values.ts'

/** Values by the number of their field (fast-fields.ts). */
export type FastState = ReadonlyMap<number, string>

/** The version of a record, with the values that changed. */
export interface FastChange {
  readonly seq: number
  readonly atMs: number
  /** The version also changes other fields, so market_versions has all of it. */
  readonly isPart: boolean
  readonly values: ReadonlyMap<number, FastValue>
}

/** One record over the period of a pack. */
export interface FastHistory {
  readonly start: FastState
  /** In the order of their numbers. */
  readonly changes: readonly FastChange[]
}

/** By the place of the record in its block. */
export type BlockHistory = ReadonlyMap<number, FastHistory>

/** Far more than a block of a day has. */
const segmentBytesMax = 64 * 2 ** 20

export const packBlock = (block: BlockHistory): Uint8Array =>
  joinSegments(new Map([...block].map(([slot, history]) => [slot, packSegment(history)])))

export const packSegment = (history: FastHistory): Uint8Array => deflateRawSync(packRecord(history), { level: 9 })

/** By the place of the record in its block. */
export function joinSegments(segments: ReadonlyMap<number, Uint8Array>): Uint8Array {
  const writer = new ByteWriter()
  writer.whole(segments.size)
  for (const [slot, segment] of segments) {
    writer.whole(slot)
    writer.bytes(segment)
  }
  return Uint8Array.from(writer.end())
}

export const slotsOf = (packed: Uint8Array): number[] => Array.from(segmentsOf(packed), ([slot]) => slot)

export function unpackBlock(packed: Uint8Array): BlockHistory {
  return new Map(Array.from(segmentsOf(packed), ([slot, segment]) => [slot, unpackRecord(segment)]))
}

/** The history of one record of the block; undefined if it has none there. */
export function unpackOne(packed: Uint8Array, slot: number): FastHistory | undefined {
  for (const [other, segment] of segmentsOf(packed)) if (other === slot) return unpackRecord(segment)
  return undefined
}

function* segmentsOf(packed: Uint8Array): Generator<[slot: number, segment: Uint8Array], undefined> {
  const reader = new ByteReader(packed)
  for (let count = reader.whole(); count > 0; count--) yield [reader.whole(), reader.bytes()]
  if (!reader.isAtEnd) throw new RangeError('the packed row is damaged')
}

/** Column by column, because the values of one field resemble each other. */
function packRecord({ start, changes }: FastHistory): Uint8Array {
  const writer = new ByteWriter()
  writer.whole(changes.length)
  let [seq, atMs] = [0, 0]
  for (const change of changes) {
    writer.whole(2 * (change.seq - seq) + Number(change.isPart))
    seq = change.seq
  }
  let stepMs = 0
  for (const change of changes) {
    writer.signed(change.atMs - atMs - stepMs)
    stepMs = change.atMs - atMs
    atMs = change.atMs
  }
  const fields = new Set([...start.keys(), ...changes.flatMap(({ values }) => [...values.keys()])])
  writer.whole(fields.size)
  for (const field of [...fields].sort((a, b) => a - b)) {
    writer.whole(field)
    const ats = [...changes.keys()].filter((at) => changes[at]?.values.has(field))
    writer.whole(ats.length)
    // Most fields change always or never.
    if (ats.length < changes.length) for (const [index, at] of ats.entries()) writer.whole(at - (ats[index - 1] ?? 0))
    writeValues(writer, [start.get(field), ...ats.map((at) => changes[at]?.values.get(field))])
  }
  return writer.end()
}

function unpackRecord(segment: Uint8Array): FastHistory {
  const reader = new ByteReader(inflate(segment))
  const count = reader.whole()
  const versions: Pick<FastChange, 'seq' | 'isPart'>[] = []
  let last = 0
  for (let at = 0; at < count; at++) {
    const step = reader.whole()
    last += Math.floor(step / 2)
    versions.push({ seq: last, isPart: step % 2 === 1 })
  }
  let [atMs, stepMs] = [0, 0]
  const changes = versions.map((version) => {
    stepMs += reader.signed()
    atMs += stepMs
    return { ...version, atMs, values: new Map<number, FastValue>() }
  })
  const start = new Map<number, string>()
  for (let fields = reader.whole(); fields > 0; fields--) {
    const field = reader.whole()
    const length = reader.whole()
    const ats: number[] = []
    for (let index = 0; index < length; index++)
      ats.push(length === count ? index : (ats[index - 1] ?? 0) + reader.whole())
    const [first, ...values] = readValues(reader, length + 1)
    if (first !== undefined) start.set(field, first)
    for (const [index, value] of values.entries()) changes[ats[index] ?? -1]?.values.set(field, value)
  }
  return { start, changes }
}

function inflate(segment: Uint8Array): Uint8Array {
  try {
    return inflateRawSync(segment, { maxOutputLength: segmentBytesMax })
  } catch {
    throw new RangeError('the packed row is damaged')
  }
}

/** The values after some changes. */
export function applyChanges(start: FastState, changes: readonly FastChange[]): Map<number, string> {
  const state = new Map(start)
  for (const { values } of changes)
    for (const [field, value] of values) {
      if (value === undefined) state.delete(field)
      else state.set(field, value)
    }
  return state
}
