// Which engine is used for which network.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBeaconConfig } from '@lodestar/config'
import { chainConfig } from '@lodestar/config/default'
import { skipWithoutNative } from '#test/made-chain.ts'
import { Engines } from './choose-engine.ts'

const configOf = (gloasEpoch: number) =>
  createBeaconConfig({ ...chainConfig, GLOAS_FORK_EPOCH: gloasEpoch }, new Uint8Array(32))
const withGloas = configOf(chainConfig.FULU_FORK_EPOCH + 1000)
const lastSlot = withGloas.GLOAS_FORK_EPOCH * 32 - 1

test('a large network in TypeScript needs a setting, and the error has the memory it takes', async () => {
  const engines = new Engines(withGloas, 'auto')
  await assert.rejects(
    engines.open(lastSlot + 1, 1_000_000),
    /1000000 validators, and the native library does not know its rules at slot \d+.* about 3800 MB .*`engine: typescript`/,
  )
  assert.equal((await engines.open(lastSlot + 1, 19_999)).name, 'typescript')
  assert.equal((await new Engines(withGloas, 'typescript').open(lastSlot + 1, 1_000_000)).name, 'typescript')
})

test('a large network uses the native library, and each engine is opened once', {
  skip: skipWithoutNative,
}, async () => {
  const engines = new Engines(withGloas, 'auto')
  const engine = await engines.open(lastSlot, 20_000)
  assert.deepEqual([engine.name, engine.knows(lastSlot), engine.knows(lastSlot + 1)], ['native', true, false])
  assert.equal(await engines.open(lastSlot, 30_000), engine)
})
