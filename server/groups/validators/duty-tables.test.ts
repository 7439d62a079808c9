// A piece with more validators than are joined at a time: written in stretches, it is one piece all the same.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Epoch } from '#core/chain-time.ts'
import { openDesk } from '#test/desk.ts'
import { writePieces } from './duties.ts'
import { type Folded, partsOf } from './duty-tables.ts'
import { counts, type Measure, measures } from './measures.ts'

const count = 131_072 + 300
const narrow = new Set<string>(counts)
const sumsOf = (value: (validator: number) => number) =>
  Object.fromEntries(
    measures.map((name) => {
      const column = narrow.has(name) ? new Int32Array(count) : new Float64Array(count)
      const isTold = name === 'assigned' || name === 'earnings'
      for (let at = 0; isTold && at < count; at++) column[at] = value(at)
      return [name, column]
    }),
  ) as Record<Measure, Float64Array | Int32Array>
const validator = Int32Array.from({ length: count }, (_, at) => at)

test('two pieces of an hour, larger than a stretch, add up for every validator once', async () => {
  await using desk = await openDesk()
  const time = desk.settings.validators.networks.hoodi
  for (const [epoch, sums] of [sumsOf((one) => one), sumsOf(() => 1)].entries()) {
    const epochs = { from: epoch as Epoch, until: (epoch + 1) as Epoch }
    await writePieces(desk.facts, [{ network: 'hoodi', time, epochs, validator, sums }])
  }
  for (const table of ['duty_hours', 'duty_days', 'duty_utc_days']) {
    const rows = await desk.facts.query(
      `select count(*) as rows, count(distinct validator) as validators, sum(assigned) as assigned,
         sum(case when earnings = validator + 1 then 1 else 0 end) as matching from ${table}`,
    )
    // 0 + 1 + … + (count − 1), and 1 for each.
    const assigned = (count * (count - 1)) / 2 + count
    assert.deepEqual(rows, [{ rows: count, validators: count, assigned, matching: count }], table)
  }
})

test('stretches follow each other without a gap', () => {
  const same = validator
  const parts = partsOf({
    isOnePiece: true,
    validator,
    hour: same,
    day: same,
    utc_day: same,
    sums: sumsOf(() => 0),
  } as Folded)
  assert.deepEqual(
    parts.map((part) => [part.validator[0], part.validator.length, part.sums.earnings.length]),
    [
      [0, 131_072, 131_072],
      [131_072, 300, 300],
    ],
  )
})
