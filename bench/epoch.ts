// Measures ingest of a network with a million validators, as of Fulu and as of Gloas. An epoch lasts 384 s; the goal is to
// process it at least 120 times faster on two cores, with at most 1.2 GiB of memory. Gloas may take 1.25 times the CPU time
// and 1.1 times the memory of Fulu. Each network has a simulated node (epoch-node.ts) and an ingest process
// (epoch-ingest.ts). They are measured in turns, because other work on the machine changes all figures.
//
// `node bench/epoch.ts [validators] [rounds] [epochs of a round] [variants…]`: the first variant is what the others are
// compared with.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { knownChains } from '#core/known-chains.ts'
import type { EpochFigures } from './epoch-ingest.ts'
import { median } from './measure.ts'

const [count = '1000000', rounds = '5', epochsPerRound = '5', ...chosen] = process.argv.slice(2)
/** `pruned`: Gloas from a node that has deleted the envelopes of all payloads. */
const variants = chosen.length > 0 ? chosen : ['fulu', 'gloas']
const epochSeconds = 384
const firstEpoch = 9

const { genesisUnix } = knownChains.mainnet
const children: ChildProcess[] = []

const launch = (file: string, ...args: readonly (string | number)[]): ChildProcess => {
  const child = fork(join(import.meta.dirname, file), args.map(String))
  children.push(child)
  return child
}

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

async function start(variant: string) {
  const node = launch('epoch-node.ts', variant, count, firstEpoch, genesisUnix)
  const ingest = launch('epoch-ingest.ts', await receive<string>(node), firstEpoch)
  await receive(ingest)
  return {
    variant,
    figures: [] as EpochFigures[],
    finalize(epoch: number): Promise<unknown> {
      node.send(epoch)
      return receive(node)
    },
    measure(): Promise<EpochFigures> {
      ingest.send('measure')
      return receive(ingest)
    },
    async close(): Promise<void> {
      ingest.send('close')
      await once(ingest, 'exit')
    },
  }
}

const toMiB = (bytes: number): number => Math.round(bytes / 2 ** 20)

const print = (variant: string, { epochs, seconds, cpuSeconds, rssMaxBytes, loopDelay }: EpochFigures): void =>
  console.log(
    `  ${variant}: ${epochs} epochs, ${seconds.toFixed(2)} s each, CPU ${cpuSeconds.toFixed(2)} s each, memory ${toMiB(rssMaxBytes)} MiB; ` +
      `event loop delay ${Math.round(loopDelay.max)} ms max, ${Math.round(loopDelay.p99)} ms p99`,
  )

const maxMemory = (figures: readonly EpochFigures[]): number =>
  Math.max(...figures.map(({ rssMaxBytes }) => rssMaxBytes))

/** Median, and in parentheses the lowest and the highest value. */
const spread = (values: readonly number[]): string =>
  `${median(values).toFixed(2)} (${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)})`

try {
  const networks = await Promise.all(variants.map(start))
  for (let round = 0; round <= Number(rounds); round++) {
    const finalized = firstEpoch + (round + 1) * Number(epochsPerRound) + 1
    await Promise.all(networks.map(({ finalize }) => finalize(finalized)))
    console.log(round === 0 ? 'first epochs, with the registry; not counted' : `round ${round}`)
    for (const { variant, figures, measure } of round % 2 === 0 ? networks : networks.toReversed()) {
      const measured = await measure()
      print(variant, measured)
      if (round > 0) figures.push(measured)
    }
  }
  for (const { variant, figures, close } of networks) {
    await close()
    const seconds = figures.map((measured) => measured.seconds)
    console.log(
      `${count} validators, ${variant}: ${spread(seconds)} s per epoch, ${(epochSeconds / median(seconds)).toFixed(0)} × real time (goal ≥ 120 ×); ` +
        `CPU ${spread(figures.map(({ cpuSeconds }) => cpuSeconds))} s per epoch; memory ${toMiB(maxMemory(figures))} MiB (goal ≤ 1229)`,
    )
  }
  const [base, ...others] = networks
  for (const { variant, figures } of others) {
    const ratios = (name: 'cpuSeconds' | 'rssMaxBytes') =>
      figures.map((measured, at) => measured[name] / (base?.figures[at]?.[name] ?? 0))
    const memory = maxMemory(figures) / maxMemory(base?.figures ?? [])
    console.log(`${variant} / ${base?.variant}: CPU ${spread(ratios('cpuSeconds'))} (goal ≤ 1.25)`)
    console.log(
      `${variant} / ${base?.variant}: maximum memory ${memory.toFixed(2)} (goal ≤ 1.1), by round ${spread(ratios('rssMaxBytes'))}`,
    )
  }
} finally {
  for (const child of children) child.kill()
}
