// Packs are exact for every value that a record can have, can be read by record, and can be merged.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseJson, stringifyJson } from '#api/contract/json.ts'
import { applyChanges, type BlockHistory, type FastChange, packBlock, unpackBlock, unpackOne } from './pack-codec.ts'

const times = fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('2100-01-01') })

/** JSON texts as records have them: what a feed may send, after it was parsed and written. */
const valueTexts = fc
  .oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
    fc.integer({ min: -1000, max: 1000 }).map((cents) => String(cents / 100)),
    fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }).map(String),
    fc.constantFrom('-0', '0.10', '1e21', '1E-7', '00012'.slice(3), '9007199254740993', 'true', 'null', '{"a":[1]}'),
    times.map((time) => stringifyJson(time.toISOString())),
    times.map((time) => stringifyJson(time.toISOString().replace('Z', '123Z'))),
    fc.double({ noNaN: true }).map((value) => stringifyJson(String(value))),
    fc.string({ unit: 'grapheme' }).map((text) => stringifyJson(text)),
    fc.constantFrom('"-0"', '"0.10"', '"."', '""', '"007"', '"-"', '"+1"', '" 1"', '"1."', '["0.5","0.5"]'),
  )
  .map((text) => stringifyJson(parseJson(text)))

const fields = fc.integer({ min: 0, max: 40 })
const states = fc
  .dictionary(fields.map(String), valueTexts, { maxKeys: 5 })
  .map((members) => new Map(Object.entries(members).map(([field, value]) => [Number(field), value])))
const changes = fc
  .array(
    fc.record({
      step: fc.integer({ min: 1, max: 2 ** 30 }),
      ms: fc.integer({ min: 0, max: 10 ** 9 }),
      isPart: fc.boolean(),
      values: fc.array(fc.tuple(fields, fc.option(valueTexts, { nil: undefined })), { maxLength: 6 }),
    }),
    { maxLength: 12 },
  )
  .map((steps): FastChange[] => {
    let [seq, atMs] = [2 ** 40, 1_794_744_000_000]
    return steps.map(({ step, ms, isPart, values }) => {
      seq += step
      atMs += ms
      return { seq, atMs, isPart, values: new Map(values) }
    })
  })
const blocks: fc.Arbitrary<BlockHistory> = fc
  .array(fc.tuple(fc.integer({ min: 0, max: 59 }), fc.record({ start: states, changes })), { maxLength: 5 })
  .map((entries) => new Map(entries))

/** Of any order. */
const plain = (block: BlockHistory) =>
  [...block].map(([slot, history]) => ({
    slot,
    start: Object.fromEntries(history.start),
    changes: history.changes.map(({ values, ...change }) => ({ ...change, values: Object.fromEntries(values) })),
  }))

test('rules 1 and 2: every value is exact, for the whole block and for one record', () => {
  fc.assert(
    fc.property(blocks, (block) => {
      const packed = packBlock(block)
      assert.deepEqual(plain(unpackBlock(packed)), plain(block))
      for (const [slot, history] of block)
        assert.deepEqual(
          plain(new Map([[slot, unpackOne(packed, slot) ?? assert.fail()]])),
          plain(new Map([[slot, history]])),
        )
      assert.equal(unpackOne(packed, 60), undefined)
    }),
    { numRuns: 500 },
  )
})

test('rule 1: packs of a period that are merged give what one pack of the whole period gives', () => {
  fc.assert(
    fc.property(states, changes, fc.nat(12), (start, all, at) => {
      const [before, after] = [all.slice(0, at), all.slice(at)]
      const parts = [
        { start, changes: before },
        { start: applyChanges(start, before), changes: after },
      ].map((history) => unpackOne(packBlock(new Map([[7, history]])), 7) ?? assert.fail())
      const merged = new Map([
        [7, { start: parts[0]?.start ?? new Map(), changes: parts.flatMap((part) => part.changes) }],
      ])
      assert.deepEqual(packBlock(merged), packBlock(new Map([[7, { start, changes: all }]])))
    }),
  )
})

test('rule 3: damaged bytes are a RangeError or other values, and never take long', () => {
  fc.assert(
    fc.property(blocks, fc.nat(), fc.nat(255), (block, place, byte) => {
      const packed = packBlock(block)
      packed[place % packed.length] = byte
      try {
        unpackBlock(packed)
      } catch (error) {
        assert.ok(error instanceof RangeError, String(error))
      }
      assert.throws(() => unpackBlock(packBlock(block).subarray(0, -1)), RangeError)
    }),
  )
})
