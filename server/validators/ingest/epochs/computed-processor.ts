// Processes the epochs of a network whose states are computed from blocks (../../chain/README.md).
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Range } from '#core/ranges.ts'
import type { Clock } from '#runtime/clock.ts'
import { type Beacon, BeaconError } from '#sources/beacon/client.ts'
import { firstSlotAt } from '#sources/beacon/consensus.ts'
import { type BeaconReply, type Chain, dataOf } from '#sources/beacon/endpoint.ts'
import { readFields } from '#sources/beacon/json.ts'
import {
  type ChainProcess,
  ChainProcessError,
  ChainStoppedError,
  callerOf,
  openChainProcess,
} from '../../chain/chain-process.ts'
import type { CheckpointSource } from '../../chain/first-state.ts'
import type { Signatures } from '../../chain/messages.ts'
import { Snapshots } from '../../chain/snapshots.ts'
import { createBeaconQueries } from '../read/beacon-queries.ts'
import { ComputedEpochs } from '../read/computed-epochs.ts'
import { isStatesNotFound, type States } from '../read/epoch-source.ts'
import type { ExecutionSource } from '../read/execution.ts'
import { readFinalizedEpoch, readHeadSlot } from '../read/newest-of-nodes.ts'
import { type EpochProcessor, epochsAhead } from './epoch-processor.ts'
import { SegmentProcessor } from './segment-processor.ts'

export interface ComputedProcessorOptions {
  readonly clock: Clock
  /** The folder of the snapshots. Undefined: a temporary one. */
  readonly folder: string | undefined
  /** A folder of snapshots of another process, which is only read. */
  readonly readFrom?: string | undefined
  readonly signatures: Signatures
  readonly engine?: 'auto' | 'typescript'
  readonly checkpoint?: CheckpointSource | undefined
  /** Of ComputedStates. */
  readonly aheadMax?: number
  /** Default: a child process. */
  readonly openProcess?: typeof openChainProcess
  /** A snapshot is saved every hour, and one of each of the last `daysKept` days is kept. */
  readonly time: { readonly epochsPerHour: number; readonly epochsPerDay: number; readonly daysKept: number }
  readonly watch?: readonly string[]
  readonly execution?: ExecutionSource | undefined
}

/** Epochs that are not final come from the same chain process. */
export interface ComputedProcessor extends EpochProcessor, States {
  /** Of the chain process; undefined while it does not run. */
  readonly pid: number | undefined
}

/** The limit of Node is too small for a large network in TypeScript. */
const heapMb = 16_384
/** The past is computed for this long before the head is looked at again. */
const pastStepMs = 30_000
/** The states of the past are released after this time without a request for them. */
const pastKeptMs = 600_000

interface Opened {
  readonly chain: Chain
  readonly process: ChainProcess
  readonly head: ComputedEpochs
  readonly past: ComputedEpochs
  readonly snapshots: Snapshots
  end(): Promise<void>
}

export function createComputedProcessor(
  beacon: Beacon,
  {
    clock,
    folder,
    readFrom,
    signatures,
    time,
    watch = [],
    execution,
    engine = 'auto',
    ...options
  }: ComputedProcessorOptions,
): ComputedProcessor {
  const segmentsOf = (names: readonly string[]) =>
    new SegmentProcessor({ watch: names, execution, summarizesNetwork: true })
  const segments = segmentsOf(watch)
  const pastSegments = segmentsOf(watch)
  let opened: Opened | undefined
  /** Ends with the last work. */
  let running: Promise<unknown> = Promise.resolve()
  let pastUsedMs = 0

  async function open(signal: AbortSignal): Promise<Opened> {
    const chain = await beacon.chain(signal)
    if (opened?.chain.rules === chain.rules) return opened
    // A fork was scheduled since: the library has the settings of the chain that it was started with.
    await close()
    const start = { spec: chain.spec, genesisValidatorsRoot: chain.identity.genesisRoot, engine } as const
    // States are loaded by ComputedStates, which knows from where on they are needed.
    const { openProcess = openChainProcess } = options
    const process = openProcess({ start, clock, restore: async () => {}, ...(engine === 'typescript' && { heapMb }) })
    const temporary = folder === undefined ? await mkdtempDisposable(join(tmpdir(), 'tetrad-states-')) : undefined
    const own = folder ?? (temporary?.path as string)
    const snapshots = new Snapshots({ ...time, folder: readFrom ?? own, temporaryFolder: own })
    const { checkpoint, aheadMax } = options
    const source = { beacon, chain, snapshots, clock, signatures, checkpoint, aheadMax }
    const end = async () => {
      await process[Symbol.asyncDispose]()
      await temporary?.remove()
    }
    opened = {
      ...{ chain, process, snapshots, end },
      head: new ComputedEpochs({ ...source, process, snapshotEvery: readFrom ? undefined : time.epochsPerHour }),
      past: new ComputedEpochs({ ...source, process: callerOf(process, 'past'), snapshotEvery: undefined }),
    }
    return opened
  }

  async function close(): Promise<void> {
    const last = opened
    opened = undefined
    // It only saves time: without it, the next start continues from an older snapshot.
    if (folder !== undefined && readFrom === undefined) await last?.head.states.saveLast().catch(() => {})
    await last?.end()
  }

  /** One work after the other. */
  function run<T>(signal: AbortSignal, work: (opened: Opened) => Promise<T>): Promise<T> {
    const result = running.then(() => runAlone(signal, work))
    running = result.catch(() => {})
    return result
  }

  /** Repeats the work if the chain process ends. It begins again from a snapshot, and stops if it ends too often. */
  async function runAlone<T>(signal: AbortSignal, work: (opened: Opened) => Promise<T>): Promise<T> {
    signal.throwIfAborted()
    const now = await open(signal)
    const [head, past] = [now.head.withSignal(signal), now.past.withSignal(signal)]
    for (;;) {
      try {
        return await work(now)
      } catch (error) {
        if (error instanceof Error && error.name === 'RulesError') throw await otherRules(error.message, signal)
        if (!(error instanceof ChainProcessError)) throw error
        head.states.startAgain()
        past.states.startAgain()
        if (signal.aborted || error instanceof ChainStoppedError) throw error
      }
    }
  }

  async function otherRules(difference: string, signal: AbortSignal): Promise<BeaconError> {
    const read = (reply: BeaconReply) => String(readFields(dataOf(jsonOf(reply)), 'data').version)
    const version = await beacon.request({ path: '/eth/v1/node/version' }, read, signal).catch(() => undefined)
    return new BeaconError(
      `the node${version === undefined ? '' : ` (${version})`} follows other rules than Tetrad: ${difference}. Use a node of the ` +
        'other version, or set `states: node` for the network',
    )
  }

  async function releasePast({ past, process }: Opened): Promise<void> {
    if (past.states.from === undefined || clock.monotonicMs() < pastUsedMs + pastKeptMs) return
    past.states.startAgain()
    await callerOf(process, 'past').call('unload', undefined)
  }

  /** A state at the start of the epoch before it must be there: a snapshot, one that is held, or one of a node. */
  async function findFirstReadable(
    { snapshots, head }: Opened,
    { from, until }: Range,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const before = Math.max(0, from - 1)
    const known = (await snapshots.list()).map(({ epoch }) => epoch)
    if (head.states.from !== undefined) known.push(head.states.from)
    if (known.some((epoch) => epoch <= before)) return from
    const { rules } = await beacon.chain(signal)
    const checkpoints = createBeaconQueries(beacon, rules, signal)
    if ((await checkpoints.finalizedEpoch(String(firstSlotAt(rules, before)))) !== undefined) return from
    const next = Math.min(...known) + 1
    return next < until ? next : undefined
  }

  return {
    get pid() {
      return opened?.process.pid
    },
    isOnOtherThread: false,
    epochsAhead: epochsAhead.computed,
    chain: (signal) => beacon.chain(signal),
    setWatch: async (names) => {
      segments.setWatch(names)
      pastSegments.setWatch(names)
    },
    finalizedEpoch: async (signal) => readFinalizedEpoch({ beacon, chain: await beacon.chain(signal), clock }, signal),
    async processSegment(request, signal) {
      // The epoch before the first one is processed without being stored.
      const first = Math.max(0, request.from - 1)
      return run(signal, async (now) => {
        const epochs = request.isPast ? now.past : now.head
        await epochs.states.startAt(first)
        if (request.isPast) pastUsedMs = clock.monotonicMs()
        else await releasePast(now)
        const chain = await beacon.chain(signal)
        return (request.isPast ? pastSegments : segments).process(request, epochs, chain, signal)
      })
    },
    async prepareHead(next, finalizedEpoch, signal) {
      for (const epoch of [Math.max(0, next - 1), finalizedEpoch]) {
        try {
          return await run(signal, ({ head }) => head.states.beginBy(epoch))
        } catch (error) {
          // Reported when the epoch is processed.
          if (!isStatesNotFound(error)) throw error
        }
      }
    },
    preparePast: ({ from, until }, signal) =>
      run(signal, async ({ past }) => {
        const untilMs = clock.monotonicMs() + pastStepMs
        await past.states.startAt(Math.max(0, from - 1))
        pastUsedMs = clock.monotonicMs()
        return past.states.requireFinal(until + 1, untilMs)
      }),
    step: async () => opened?.head.states.step,
    firstReadable: (epochs, signal) => run(signal, (now) => findFirstReadable(now, epochs, signal)),
    readFinal: (first, signal, work) =>
      run(signal, async ({ head }) => {
        await head.states.startAt(first)
        return work(head)
      }),
    async readPending(first, signal, work) {
      // Final epochs do not wait for this request.
      const headSlot = await readHeadSlot({ beacon, chain: await beacon.chain(signal), clock }, signal)
      return run(signal, async ({ head }) => {
        await head.states.beginBy(first)
        return work(await head.pendingUpTo(headSlot, first))
      })
    },
    [Symbol.asyncDispose]: close,
  }
}

const jsonOf = (reply: BeaconReply): unknown => (reply.is === 'json' ? reply.body : undefined)
