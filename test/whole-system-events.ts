// What happens in a whole-system run: a list of events from a seed. Events do not depend on each other, so a failing list
// can be shortened by leaving out any of them.
import { createSeededRandom, type SeededRandom } from '#simulator/seeded-random.ts'
import { type GateMode, gateModes } from './source-gate.ts'
import { type SourceName, sourceNames } from './whole-system-sources.ts'

/** Of a run with one server and of a cluster. */
export type CommonEvent =
  /** Time passes. */
  | { readonly is: 'pass'; readonly steps: number }
  | { readonly is: 'quotes'; readonly count: number }
  | { readonly is: 'label'; readonly slug: string; readonly name: string }
  | { readonly is: 'create key' | 'revoke key' | 'rotate key' }
  | { readonly is: 'push rate'; readonly rate: string }
  | { readonly is: 'reorg'; readonly depth: number }
  /** Alters an answer of a source. */
  | { readonly is: 'alter'; readonly source: SourceName; readonly skipped: number; readonly seed: string }
  | { readonly is: 'break'; readonly source: SourceName; readonly mode: GateMode; readonly steps: number }

export type SystemEvent =
  | CommonEvent
  /** Calls at the same time with a key that has limits. */
  | { readonly is: 'burst'; readonly calls: number }
  | { readonly is: 'fill disk'; readonly steps: number }
  /** The wall time of the server is wrong. */
  | { readonly is: 'wrong clock'; readonly byMs: number; readonly steps: number }
  | { readonly is: 'kill'; readonly when: KillTime; readonly at: number; readonly downSteps: number }
  | { readonly is: 'restart'; readonly downSteps: number }
  | { readonly is: 'backup' | 'restore' }

/** `commit`: at a commit point. `request`: during a pass. `quote`: while a quote is written. */
export type KillTime = 'now' | 'commit' | 'request' | 'quote'

const minuteMs = 60_000

/** Events of a kind of runs, and how often they happen. */
export type EventTable<E> = readonly (readonly [weight: number, draw: (draws: SeededRandom) => E])[]

export function drawFrom<E>(table: EventTable<E>, seed: string, count: number): E[] {
  const draws = createSeededRandom(seed)
  const weighted = table.flatMap(([weight, draw]) => Array.from({ length: weight }, () => draw))
  return Array.from({ length: count }, () => draws.pick(weighted)(draws))
}

const systemEvents: EventTable<SystemEvent> = [
  [8, (draws) => ({ is: 'pass', steps: draws.whole(1, 7) })],
  [4, (draws) => ({ is: 'quotes', count: draws.whole(1, 6) })],
  [3, (draws) => ({ is: 'label', slug: `entity-${draws.whole(1, 5)}`, name: `Name ${draws.whole(1, 1000)}` })],
  [3, (draws) => ({ is: draws.pick(['create key', 'revoke key', 'rotate key']) })],
  [1, (draws) => ({ is: 'push rate', rate: `1.08${draws.whole(30, 50)}` })],
  [2, (draws) => ({ is: 'burst', calls: draws.whole(3, 12) })],
  [3, (draws) => ({ is: 'reorg', depth: draws.whole(1, 5) })],
  [6, (draws) => ({ is: 'alter', source: draws.pick(sourceNames), skipped: draws.whole(0, 12), seed: draws.hex(6) })],
  [
    5,
    (draws) => ({
      ...{ is: 'break', source: draws.pick(sourceNames), steps: draws.whole(1, 9) },
      // A silent source costs real time.
      mode: draws.happens(0.95) ? draws.pick(gateModes.filter((mode) => mode !== 'silent')) : 'silent',
    }),
  ],
  [2, (draws) => ({ is: 'fill disk', steps: draws.whole(1, 5) })],
  [2, (draws) => ({ is: 'wrong clock', byMs: draws.whole(-30, 31) * minuteMs, steps: draws.whole(1, 5) })],
  [
    4,
    (draws) => ({
      ...{ is: 'kill', when: draws.pick(['now', 'commit', 'commit', 'request', 'quote']), at: draws.whole(1, 25) },
      downSteps: draws.pick([0, 0, 1, 6]),
    }),
  ],
  [1, (draws) => ({ is: 'restart', downSteps: draws.pick([0, 1, 6]) })],
  [2, () => ({ is: 'backup' })],
  [1, () => ({ is: 'restore' })],
]

const eventsPerRun = 16

export const drawEvents = (seed: number): SystemEvent[] => drawFrom(systemEvents, `whole system ${seed}`, eventsPerRun)

export const eventText = ({ is, ...more }: { readonly is: string }): string => {
  const values = Object.entries(more).map(([name, value]) => `${name} ${value}`)
  return values.length === 0 ? is : `${is} (${values.join(', ')})`
}

const triesMax = 60

/** The shortest list that still fails, found by leaving out halves, then quarters, then single events. */
export async function shrinkEvents<E>(
  events: readonly E[],
  fails: (events: readonly E[]) => Promise<boolean>,
): Promise<readonly E[]> {
  let shortest = events
  let tries = 0
  for (let size = Math.ceil(events.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < shortest.length && tries < triesMax; tries++) {
      const shorter = shortest.toSpliced(from, size)
      if (await fails(shorter)) shortest = shorter
      else from += size
    }
  }
  return shortest
}
