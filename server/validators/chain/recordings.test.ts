// Computes the states of recorded chains from their blocks, in a chain process, and compares each epoch start with the
// state that the node returned.
import assert from 'node:assert/strict'
import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { zstdDecompressSync } from 'node:zlib'
import { systemClock } from '#runtime/clock.ts'
import { readRules } from '#sources/beacon/consensus.ts'
import { View } from '#sources/beacon/ssz.ts'
import { type StateParts, stateFromSsz } from '#sources/beacon/validators.ts'
import { readRecordedChain } from '#test/recorded-chain.ts'
import { openChainProcess } from './chain-process.ts'
import { type EpochStart, readEpochStart } from './epoch-start.ts'
import type { Signatures } from './messages.ts'

interface Recording {
  readonly name: string
  readonly files: readonly string[]
  readonly signatures: Signatures
  /** How many blocks follow its first state. */
  readonly blocks: number
}

const lodestar = (name: string, blocks: number): Recording => ({
  name: `lodestar/${name}`,
  files: [`lodestar/${name}/exchanges.ndjson`],
  signatures: 'none',
  blocks,
})

const signed = (name: string, files: readonly string[], blocks: number): Recording => ({
  name,
  files: files.map((file) => `${name}/${file}`),
  signatures: 'all',
  blocks,
})

const recordings = [
  lodestar('deneb-to-electra', 108),
  lodestar('electra', 112),
  lodestar('electra-to-fulu', 111),
  lodestar('electra-upgrade', 53),
  lodestar('fulu', 107),
  lodestar('leak', 128),
  signed('prysm-fulu', ['answers.ndjson'], 186),
  signed('gloas', ['exchanges.ndjson', 'debug-states.ndjson'], 139),
]

function assertEqualsState({ validators, finalized }: EpochStart, state: StateParts): void {
  assert.deepEqual({ ...validators }, { ...state.validators })
  assert.equal(finalized.epoch, state.finalizedEpoch)
}

for (const { name, files, signatures, blocks } of recordings) {
  describe(name, () => {
    test('every state has the root that its block states, and every epoch start equals the state of the node', async () => {
      await using folder = await mkdtempDisposable(join(tmpdir(), 'tetrad-chain-'))
      const chain = readRecordedChain(files)
      const [firstSlot = 0, firstState = new Uint8Array()] = [...chain.states][0] ?? []
      const stateFile = join(folder.path, 'first')
      await writeFile(stateFile, firstState)
      const rules = readRules(chain.start.spec)
      await using process = openChainProcess({
        start: chain.start,
        clock: systemClock,
        restore: async (opened) => {
          await opened.call('loadState', { file: stateFile, stateRoot: undefined })
        },
      })
      let base: EpochStart | undefined
      let accepted = 0
      let compared = 0
      for (const [slot, bytes] of chain.blocks) {
        if (slot <= firstSlot) continue
        const block = await process.call('processBlock', { bytes, root: undefined, newestSlot: slot, signatures })
        if (block.is === 'refused') assert.fail(`slot ${slot}: ${block.message}`)
        accepted += 1
        for (const id of block.epochStarts) {
          const start = await readEpochStart(process, id, rules, base)
          const recorded = chain.states.get(id.epoch * rules.slotsPerEpoch)
          if (!recorded) continue
          const file = join(folder.path, `state-${id.epoch}`)
          await process.call('saveState', { ...id, file })
          assert.ok(zstdDecompressSync(await readFile(file)).equals(recorded), `the state of epoch ${id.epoch}`)
          assertEqualsState(start, stateFromSsz(new View(recorded), rules))
          compared += 1
          base = start
        }
      }
      assert.equal(accepted, blocks)
      assert.ok(compared > 5, `${compared} epoch starts were compared`)
    })
  })
}
