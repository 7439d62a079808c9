// The next change of the rules that a node schedules: a fork (`…_FORK_EPOCH`), or other limits of blobs (BLOB_SCHEDULE).
import { type Epoch, epochStartMs } from '#core/chain-time.ts'
import { forks } from './consensus.ts'
import type { Chain } from './endpoint.ts'

export interface ScheduledFork {
  /** In lower case. */
  readonly name: string
  /** Its first epoch. */
  readonly epoch: number
  readonly atMs: number
  /** Whether this version of Tetrad supports it. */
  readonly isKnown: boolean
}

type ForkSource = Pick<Chain, 'identity' | 'rules' | 'spec'>

/** All forks with an epoch, in chronological order; of the same epoch, unknown ones first. */
export function listForks({ identity, rules, spec }: ForkSource): ScheduledFork[] {
  const at = (name: string, epoch: number, isKnown: boolean): ScheduledFork => ({
    ...{ name, epoch, isKnown, atMs: epochStartMs(identity, epoch as Epoch) },
  })
  const known = forks.map((name) => at(name, rules.forkEpochs[name], true))
  const unknown = rules.unknownFork ? [at(rules.unknownFork.name, rules.unknownFork.epoch, false)] : []
  return [...unknown, ...known, ...blobEpochs(spec.BLOB_SCHEDULE).map((epoch) => at('more blobs', epoch, true))]
    .filter(({ epoch }) => Number.isSafeInteger(epoch))
    .sort((a, b) => a.epoch - b.epoch)
}

/** Undefined: none is scheduled. */
export const findNextFork = (chain: ForkSource, nowMs: number): ScheduledFork | undefined =>
  listForks(chain).find(({ atMs }) => atMs > nowMs)

/** Nothing of a block that Tetrad reads depends on the number of blobs, so an entry that is not valid is left out. */
const blobEpochs = (schedule: unknown): number[] =>
  (Array.isArray(schedule) ? (schedule as readonly unknown[]) : []).flatMap((entry) => {
    const { EPOCH: epoch } = (entry ?? {}) as { readonly EPOCH?: unknown }
    return typeof epoch === 'string' && /^\d{1,16}$/.test(epoch) ? [Number(epoch)] : []
  })

const dayMs = 86_400_000

/** `gloas of epoch 500000 (2026-12-05T10:00:00.000Z, in 16 days)` */
export function describeFork(
  { name, epoch, atMs }: Pick<ScheduledFork, 'name' | 'epoch' | 'atMs'>,
  nowMs: number,
): string {
  const days = Math.floor((atMs - nowMs) / dayMs)
  return `${name} of epoch ${epoch} (${new Date(atMs).toISOString()}${days >= 0 ? `, in ${days} days` : ''})`
}
