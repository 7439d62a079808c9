// Measures the chain process with a chain that the library makes: all validators vote in every slot, with real signatures.
// An epoch lasts 384 s on mainnet. The figures are ratios of that, for two cores, with all processes.
//
// `node bench/chain.ts [validators] [epochs] [native|typescript] [half-exited]`. The first epoch is not measured.
import { readFile } from 'node:fs/promises'
import { systemClock } from '#runtime/clock.ts'
import { readRules } from '#sources/beacon/consensus.ts'
import { type ChainProcess, openChainProcess } from '#validators/chain/chain-process.ts'
import { type EpochStart, readEpochStart } from '#validators/chain/epoch-start.ts'
import type { Signatures } from '#validators/chain/messages.ts'
import { makeChain, type OpenedChain } from '../test/made-chain.ts'
import { median } from './measure.ts'

const [count = '1000000', epochs = '4', engine = 'native', exited = ''] = process.argv.slice(2)
const validators = Number(count)
const epochSeconds = 384
const goals = { seconds: { none: 85, all: 55 }, memoryMiB: 2253 }
const toMiB = (bytes: number): number => Math.round(bytes / 2 ** 20)
const seconds = (startMs: number): number => (performance.now() - startMs) / 1000

/** The most memory that a process has had. */
async function maxRssBytes(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1024
}

async function measure(chain: OpenedChain, signatures: Signatures): Promise<void> {
  const { spec, genesisValidatorsRoot, stateFile, slots } = chain
  const rules = readRules(spec)
  let loadSeconds = 0
  await using opened: ChainProcess = openChainProcess({
    start: { spec, genesisValidatorsRoot, engine: engine as 'native' },
    clock: systemClock,
    heapMb: 12_000,
    restore: async (process) => {
      const startMs = performance.now()
      await process.call('loadState', { file: stateFile, stateRoot: undefined })
      loadSeconds = seconds(startMs)
    },
  })
  await opened.call('status', undefined)
  const perEpoch: number[] = []
  const perStart: number[] = []
  let base: EpochStart | undefined
  let startMs = performance.now()
  for (const slot of slots) {
    const block = await opened.call('processBlock', {
      bytes: chain.block(slot),
      root: undefined,
      newestSlot: slot,
      signatures,
    })
    if (block.is === 'refused') throw new Error(block.message)
    for (const id of block.epochStarts) {
      const readMs = performance.now()
      base = await readEpochStart(opened, id, rules, base)
      perStart.push(seconds(readMs))
      await opened.call('dropBefore', { epoch: id.epoch - 2 })
      perEpoch.push(seconds(startMs))
      startMs = performance.now()
    }
  }
  const own = await maxRssBytes(process.pid)
  const child = await maxRssBytes(opened.pid)
  const epoch = median(perEpoch.slice(1))
  const goal = signatures === 'none' || signatures === 'all' ? goals.seconds[signatures] : 0
  console.log(
    `${count} validators, ${engine}, signatures ${signatures}: loaded in ${loadSeconds.toFixed(1)} s; ${epoch.toFixed(2)} s per epoch, ` +
      `${(epochSeconds / epoch).toFixed(0)} × real time (goal for a million, native: ≥ ${goal} ×), of which ${median(perStart.slice(1)).toFixed(2)} s to read its start; ` +
      `memory ${toMiB(child)} + ${toMiB(own)} MiB (goal for a million, native: ≤ ${goals.memoryMiB} together)`,
  )
}

const makeMs = performance.now()
await using chain = await makeChain({
  preset: 'mainnet',
  validators,
  slots: Number(epochs) * 32,
  engine: engine as 'native',
  halfExited: exited === 'half-exited',
})
console.log(`chain made in ${seconds(makeMs).toFixed(0)} s`)
for (const signatures of ['none', 'all'] as const) await measure(chain, signatures)
