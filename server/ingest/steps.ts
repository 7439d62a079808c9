// When each stream of data last moved on, as far as this process knows. A stream that is behind and moves is catching up, which takes
// hours or days the first time and is nobody's alarm; one that is behind and stands still has stalled (decision 0131).
import type { Clock } from '#io/clock.ts'
import type { State } from '#store/state.ts'

interface StepContext {
  readonly state: State
  readonly clock: Pick<Clock, 'now'>
}

/** Longer than the slowest step: a range of blocks, an hour of epochs, a page with all its tries. */
export const stalledAfterMs = 900_000

const steps = new WeakMap<State, Map<string, number>>()
const reached = new WeakMap<State, Map<string, number>>()

/** Something of the stream was read; its beginning counts, so that the first step has its time too. */
export function noteStep({ state, clock }: StepContext, stream: string): void {
  const known = steps.get(state) ?? new Map<string, number>()
  steps.set(state, known.set(stream, clock.now()))
}

/** `reach` is how far it has come: another process may be reading it, and then a change since the last look is its step. */
export function isMoving(context: StepContext, stream: string, reach: number): boolean {
  const { state, clock } = context
  const known = reached.get(state) ?? new Map<string, number>()
  const before = known.get(stream)
  reached.set(state, known.set(stream, reach))
  if (before !== undefined && before !== reach) noteStep(context, stream)
  const atMs = steps.get(state)?.get(stream)
  return atMs !== undefined && clock.now() - atMs <= stalledAfterMs
}
