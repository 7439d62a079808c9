// Measures ingest of a network whose states are computed from blocks, with all its processes, on two cores. The chain is
// made by the library: all validators vote in every slot, with real signatures. An epoch of mainnet lasts 384 s.
//
// `node bench/epoch.ts [validators] [epochs] [fulu|gloas] [half-exited]`, without and with signatures. The first start, with
// the first state and the whole registry, is not part of the time per epoch. Goals are known for a million validators, for
// 2.2 million of which half have exited, and for Gloas, which is computed in TypeScript.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempDisposable, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeChain } from '#test/made-chain.ts'
import { openMadeChainNode } from '#test/made-chain-node.ts'
import { nativeValidatorsMin } from '#validators/chain/native-library.ts'
import type { EpochFigures, EpochIngestOptions } from './epoch-ingest.ts'

const [count = '1000000', measured = '5', forkName = 'fulu', exited = ''] = process.argv.slice(2)
const validators = Number(count)
const epochs = Number(measured)
const isGloas = forkName === 'gloas'
const epochSeconds = 384
const slotsPerEpoch = 32
/** As on mainnet. */
const payloadBytes = 100_000
/** The first epochs are read with the first start. */
const firstFinal = isGloas ? 3 : 2

interface Goals {
  readonly speed: number
  readonly speedWithSignatures?: number
  readonly memoryGiB: number
  readonly restartSeconds?: number
}

const goals: Goals | undefined = isGloas
  ? { speed: 15, memoryGiB: 5 }
  : validators === 1_000_000
    ? { speed: 85, speedWithSignatures: 55, memoryGiB: 2.2, restartSeconds: 60 }
    : validators === 2_200_000
      ? { speed: 45, memoryGiB: 3, restartSeconds: 150 }
      : undefined

const goal = (text: string, value: number | undefined): string =>
  value === undefined ? '' : ` (goal ${text} ${value})`
const toMiB = (bytes: number): number => Math.round(bytes / 2 ** 20)
const toMb = (bytes: number): string => (bytes / 1e6).toFixed(2)
const secondsSince = (startMs: number): number => (performance.now() - startMs) / 1000

/** The next message of a process. Fails if it ends instead. */
async function receive<T>(child: ChildProcess): Promise<T> {
  const stop = new AbortController()
  const ended = once(child, 'exit', stop).then(([code]) => {
    throw new Error(`a process of the benchmark ended with ${code}`)
  })
  try {
    return ((await Promise.race([once(child, 'message', stop), ended])) as [T])[0]
  } finally {
    stop.abort()
  }
}

async function startIngest(options: EpochIngestOptions) {
  const child = fork(join(import.meta.dirname, 'epoch-ingest.ts'), [JSON.stringify(options)])
  try {
    await receive(child)
  } catch (error) {
    child.kill()
    throw error
  }
  return {
    measure(): Promise<EpochFigures> {
      child.send('measure')
      return receive(child)
    },
    async [Symbol.asyncDispose](): Promise<void> {
      child.send('close')
      await once(child, 'exit')
    },
  }
}

const makeMs = performance.now()
const engine = isGloas || validators < nativeValidatorsMin ? 'typescript' : 'native'
const lastFinal = firstFinal + epochs
await using chain = await makeChain({
  ...{ preset: 'mainnet', validators, engine, payloadBytes, halfExited: exited === 'half-exited' },
  // One more epoch for the restart. An epoch is final with the first block two epochs later.
  slots: (lastFinal + 3) * slotsPerEpoch,
  showsProgress: true,
  ...(isGloas && { gloasEpoch: 1 }),
})
console.log(`chain made in ${secondsSince(makeMs).toFixed(0)} s`)
await using node = await openMadeChainNode(chain)

function finalize(epoch: number): void {
  node.finalized = epoch
  node.head = (epoch + 2) * slotsPerEpoch
}

for (const verifySignatures of [false, true]) {
  await using dir = await mkdtempDisposable(join(tmpdir(), 'tetrad-epoch-'))
  const options = { url: node.url, dir: dir.path, verifySignatures, engine: isGloas ? 'typescript' : 'auto' } as const
  node.states.set('0', await readFile(chain.stateFile))
  finalize(firstFinal)
  let figures: EpochFigures
  let first: EpochFigures
  let readBytes: number
  {
    await using ingest = await startIngest(options)
    first = await ingest.measure()
    finalize(lastFinal)
    const before = node.sentBytes
    figures = await ingest.measure()
    readBytes = (node.sentBytes - before) / figures.epochs
  }
  node.states.clear()
  finalize(lastFinal + 1)
  const restartMs = performance.now()
  await using again = await startIngest(options)
  const restarted = await again.measure()
  const restartSeconds = secondsSince(restartMs)
  if (restarted.epochs !== 1) throw new Error(`${restarted.epochs} epochs were stored after the restart`)
  const seconds = figures.seconds / figures.epochs
  const speed = verifySignatures ? goals?.speedWithSignatures : goals?.speed
  const memory = Math.max(first.rssMaxBytes, figures.rssMaxBytes, restarted.rssMaxBytes)
  console.log(
    [
      `${count} validators${exited === '' ? '' : `, ${exited}`}, ${forkName}, signatures ${verifySignatures ? 'all' : 'none'}:`,
      `  ${figures.epochs} epochs, ${seconds.toFixed(2)} s each, ${(epochSeconds / seconds).toFixed(0)} × real time${goal('≥', speed)}; CPU ${(figures.cpuSeconds / figures.epochs).toFixed(2)} s each`,
      `  memory ${toMiB(memory)} MiB${goal('≤', goals && goals.memoryGiB * 1024)}: first start ${toMiB(first.rssMaxBytes)}, epochs ${toMiB(figures.rssMaxBytes)} (chain process ${toMiB(figures.chainRssBytes)}), restart ${toMiB(restarted.rssMaxBytes)}`,
      `  ${toMb(readBytes)} MB read per epoch${goal('≤', 8)}`,
      `  written by the databases: ${toMb(first.writtenBytes)} MB with the first start, ${toMb(figures.writtenBytes / figures.epochs)} MB per epoch of ${figures.epochs}, ${toMb(restarted.writtenBytes)} MB with the restart and its epoch`,
      `  first start, until ${first.epochs} epochs are stored: ${first.seconds.toFixed(0)} s; restart, until the next epoch is stored: ${restartSeconds.toFixed(0)} s${goal('≤', goals?.restartSeconds)}`,
    ].join('\n'),
  )
}
