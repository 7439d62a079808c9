// Why missing epochs could not be filled.
// Shown by `tetrad coverage`, the doctor and the console, and therefore stored.
import type { Network } from '#api/contract/wire/validators.ts'
import type { Range } from '#core/ranges.ts'
import type { State, StateReader } from '#storage/state.ts'

export interface GapReason extends Range {
  readonly reason: string
}

/** The newest gaps, so that the number of rows is bounded. */
const gapsMax = 100

/** Replaces the reasons of the network. `gaps`: the newest first. */
export const storeGapReasons = (
  state: State,
  network: Network,
  gaps: readonly GapReason[],
  nowMs: number,
): Promise<void> =>
  state.write(async (tx) => {
    await tx.run('delete from epoch_gaps where network = ?', network)
    await tx.insertMany(
      'epoch_gaps',
      ['network', 'from_epoch', 'until_epoch', 'reason', 'tried_ms'],
      gaps.slice(0, gapsMax).map(({ from, until, reason }) => [network, from, until, reason, nowMs]),
    )
  })

/** In ascending order. Some of them may have been filled since. */
export const readGapReasons = (state: StateReader, network: Network): Promise<GapReason[]> =>
  state.all<GapReason>(
    'select from_epoch as "from", until_epoch as "until", reason from epoch_gaps where network = ? order by from_epoch',
    network,
  )

/** The reason of a gap that may have become smaller since; undefined: it was not tried yet. */
export const findGapReason = (reasons: readonly GapReason[], { from, until }: Range): string | undefined =>
  reasons.find((known) => known.from < until && known.until > from)?.reason

/** The server tries to read missing epochs every hour. */
export const missingTodo = (network: string): string =>
  `add a node that has the state and the blocks of these epochs to validators.networks.${network}.beacon.urls and restart; the server then reads them`
