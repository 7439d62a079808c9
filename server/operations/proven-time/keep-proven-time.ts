// Moves the proven time (runtime/proven-time.ts), and stores it for the next start.
//
// 1. A time that two sources have reached is proven, but never a later one than the clock of this machine shows. So a
//    deletion that is too early needs three wrong clocks.
// 2. If two sources cannot prove it, the clock is trusted after the server has run for 24 hours. These hours start again
//    when the clock has moved by more than a day more or less than the server has run, and as long as two sources go on
//    and contradict it by more than a day.
// 3. The hours are those of all runs together, so that a server that stops every night also reaches them.
import { ageText } from '#core/age.ts'
import { logOutcome, poll } from '#ingest/poll.ts'
import { cursorOf, moveCursor } from '#storage/coverage.ts'
import type { StateReader } from '#storage/state.ts'
import type { TimeReading, TimeSourceContext } from './read-time-sources.ts'

const everyMs = 600_000
const timeoutMs = 60_000
const dayMs = 86_400_000
/** Smaller differences need no proof, because nothing is deleted to the minute. */
const toleratedMs = 60_000

interface StoredTime {
  readonly provenMs: number
  /** What the clock showed when this was stored. */
  readonly clockMs: number
  /** The hours of rule 2. */
  readonly ranMs: number
}

const stream = (name: keyof StoredTime): string => `time/${name}`

async function readStored(reader: StateReader): Promise<StoredTime | undefined> {
  const [provenMs, clockMs, ranMs] = await Promise.all([
    cursorOf(reader, stream('provenMs')),
    cursorOf(reader, stream('clockMs')),
    cursorOf(reader, stream('ranMs')),
  ])
  return provenMs === undefined || clockMs === undefined || ranMs === undefined
    ? undefined
    : { provenMs, clockMs, ranMs }
}

type ProvenTimeContext = Pick<TimeSourceContext, 'state' | 'clock' | 'provenTime'>

async function store({ state, clock, provenTime }: ProvenTimeContext): Promise<void> {
  const { ms: provenMs, ranMs } = provenTime
  const values: StoredTime = { provenMs, clockMs: clock.now(), ranMs: Math.floor(ranMs) }
  await state.write(async (tx) => {
    for (const name of ['provenMs', 'clockMs', 'ranMs'] as const) await moveCursor(tx, stream(name), values[name])
  })
}

/** Continues with what was stored last, without which a command knows no time. */
export async function loadProvenTime({ state, provenTime }: Pick<ProvenTimeContext, 'state' | 'provenTime'>) {
  const stored = await readStored(state)
  if (!stored) return undefined
  provenTime.ms = stored.provenMs
  provenTime.ranMs = stored.ranMs
  return stored
}

/** Continues with what was stored last. Returns what moves the time; `readSources` is called only in doubt. */
export async function openProvenTime(
  context: ProvenTimeContext,
  readSources: () => Promise<readonly TimeReading[]> = async () => [],
) {
  const { state, clock, provenTime } = context
  const stored = await loadProvenTime(context)
  let clockMs = stored?.clockMs ?? clock.now()
  let monotonicMs = clock.monotonicMs()
  /** The time that two sources had reached at the last step. */
  let reachedMs = 0

  async function compareWithClock(): Promise<void> {
    const elapsedMs = clock.monotonicMs() - monotonicMs
    const hasJumped = Math.abs(clock.now() - clockMs - elapsedMs) > dayMs
    clockMs = clock.now()
    monotonicMs += elapsedMs
    // Another server may have proven more.
    raise((await readStored(state))?.provenMs ?? 0)
    if (isNear(clock.now(), provenTime.ms, toleratedMs)) {
      provenTime.ranMs = 0
      return
    }
    const reached = reachedByTwo(await readSources())
    const isContradicted = reached > reachedMs && !isNear(clock.now(), reached, dayMs)
    reachedMs = Math.max(reachedMs, reached)
    raise(reached)
    provenTime.ranMs = hasJumped || isContradicted ? 0 : provenTime.ranMs + elapsedMs
    if (provenTime.ranMs >= dayMs) acceptClock(context)
  }

  /** Rule 1. */
  function raise(atMs: number): void {
    provenTime.ms = Math.max(provenTime.ms, Math.min(atMs, clock.now()))
  }

  return {
    /** Every few minutes. */
    async step(): Promise<void> {
      await compareWithClock()
      await store(context)
    },
    store: () => store(context),
  }
}

const isNear = (oneMs: number, otherMs: number, maxMs: number): boolean => Math.abs(oneMs - otherMs) <= maxMs

function acceptClock({ clock, provenTime }: ProvenTimeContext): void {
  provenTime.ms = clock.now()
  provenTime.ranMs = 0
}

/** For an operator who does not want to wait. */
export async function trustClock(context: ProvenTimeContext): Promise<void> {
  acceptClock(context)
  await store(context)
}

/** A time before is none: nothing has been proven since the data folder was created. */
const firstProvenMs = Date.UTC(2020)

/** Undefined if clock and proven time are within a day of each other, as far as is known. */
export function describeClockDoubt({
  clock,
  provenTime,
}: Pick<ProvenTimeContext, 'clock' | 'provenTime'>): { readonly message: string; readonly todo: string } | undefined {
  const aheadMs = clock.now() - provenTime.ms
  if (provenTime.ms < firstProvenMs || Math.abs(aheadMs) <= dayMs) return undefined
  const difference = `${ageText(Math.round(Math.abs(aheadMs) / 1000))} ${aheadMs > 0 ? 'ahead of' : 'behind'}`
  const proven = new Date(provenTime.ms).toISOString()
  const effect =
    aheadMs > 0 ? 'nothing newer than this time allows is deleted' : 'nothing is deleted, and keys expire by this time'
  const hours = Math.ceil((dayMs - provenTime.ranMs) / 3_600_000)
  return {
    message: `the clock of this machine is ${difference} the proven time ${proven}: ${effect}, for ${hours} h of running or until two sources confirm the clock`,
    todo: 'if the clock is wrong, set it; if it is right, wait, or run: tetrad retention run',
  }
}

/** The newest time that two sources have reached; 0 if there are fewer. */
function reachedByTwo(readings: readonly TimeReading[]): number {
  const newest = new Map<string, number>()
  for (const { source, atMs } of readings) newest.set(source, Math.max(atMs, newest.get(source) ?? 0))
  return [...newest.values()].sort((one, other) => other - one)[1] ?? 0
}

export type TimeKeeper = Awaited<ReturnType<typeof openProvenTime>>

/** Runs until the signal aborts. */
export async function keepProvenTime(
  context: Pick<TimeSourceContext, 'clock' | 'random' | 'log'>,
  keeper: TimeKeeper,
  signal: AbortSignal,
): Promise<void> {
  await poll(
    context,
    {
      everyMs,
      timeoutMs,
      backoffMaxMs: everyMs,
      work: keeper.step,
      report: (outcome) =>
        logOutcome(
          context,
          outcome,
          {},
          { failed: 'cannot store the time; will retry', recovered: 'time stored again' },
        ),
    },
    signal,
  )
  await keeper.store().catch(() => {})
}
