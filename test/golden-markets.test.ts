// Responses about markets after random histories equal the golden file, byte for byte.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { differencesOf, readGolden, reportOf } from './golden.ts'
import { historyCount, respondToHistory } from './golden-markets.ts'
import { seedsOf } from './long.ts'

const differencesShown = 5

for (const number of seedsOf(historyCount, 4)) {
  test(`responses equal the golden file: history ${number}`, async () => {
    const golden = readGolden('markets')
    const lines = await respondToHistory(number)
    const expected = [...golden.values()].filter(({ stage }) => stage === `history ${number}`).length
    const differences = differencesOf(golden, lines)
    assert.equal(differences.length, 0, reportOf(differences, differencesShown))
    assert.deepEqual([lines.length, expected > 0], [expected, true])
  })
}
