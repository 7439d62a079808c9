// What Lodestar's epoch processing leads to, split into parts by running it with changed inputs.

export const balancesOf = (state) => state.balances.getAll()

/**
 * Balance changes at the end of the epoch before `slot` that are not caused by duties: the difference to the same
 * transition with empty queues, or without the Electra upgrade.
 */
export function transfersOf(chain, slot) {
  const { lodestar, state, slotsPerEpoch, chainConfig, cached } = chain
  const { transition, types, params } = lodestar
  const { ssz } = types
  const { electra } = ssz
  const fork = state.config.getForkSeq(state.slot)
  const isUpgrade = slot / slotsPerEpoch === chainConfig.ELECTRA_FORK_EPOCH
  if (fork < params.ForkSeq.electra && !isUpgrade) return []
  let twin
  if (isUpgrade) {
    const view = ssz.deneb.BeaconState.deserializeToViewDU(state.serialize())
    twin = cached(view, { ELECTRA_FORK_EPOCH: Number.POSITIVE_INFINITY, FULU_FORK_EPOCH: Number.POSITIVE_INFINITY })
  } else {
    twin = state.clone()
    twin.pendingDeposits = electra.PendingDeposits.defaultViewDU()
    twin.pendingConsolidations = electra.PendingConsolidations.defaultViewDU()
    twin.commit()
  }
  const without = balancesOf(transition.processSlots(twin, slot))
  const after = balancesOf(transition.processSlots(state, slot))
  return after.map((gwei, index) => [index, gwei - (without[index] ?? 0)]).filter(([, gwei]) => gwei !== 0)
}

/** By validator: the parts of the rewards for the votes of the previous epoch, penalties negative. */
export function rewardParts({ lodestar, state }) {
  const { transition, epoch, types } = lodestar
  const copy = state.clone()
  const cache = transition.beforeProcessEpoch(copy)
  epoch.processJustificationAndFinalization(copy, cache)
  epoch.processInactivityUpdates(copy, cache)
  const flags = [...cache.flags]
  const eligible = flags.map((value) => value & transition.FLAG_ELIGIBLE_ATTESTER)
  const run = (change) => {
    flags.forEach((value, index) => {
      cache.flags[index] = change(value, index)
    })
    return epoch.getRewardsAndPenalties(copy, cache).map((list) => [...list])
  }
  const only = (flagBits) => run((_, index) => (eligible[index] ? eligible[index] | flagBits : 0))
  const [actualRewards, actualPenalties] = run((value) => value)
  const { FLAG_PREV_SOURCE_ATTESTER_UNSLASHED: source, FLAG_PREV_TARGET_ATTESTER_UNSLASHED: target } = transition
  const { FLAG_PREV_HEAD_ATTESTER_UNSLASHED: head } = transition
  const [[sourceReward], [targetReward, sourcePenalty], [headReward], [, allPenalties]] = [source, target, head, 0].map(
    only,
  )
  copy.inactivityScores = types.ssz.altair.InactivityScores.toViewDU(flags.map(() => 0))
  const [, flagPenalties] = only(0)
  const has = (index, flagBits) => transition.hasMarkers(flags[index], flagBits)
  return flags.map((_, index) => {
    if (!eligible[index]) return null
    const parts = [
      has(index, source) ? sourceReward[index] : 0 - sourcePenalty[index],
      has(index, target) ? targetReward[index] : sourcePenalty[index] - flagPenalties[index],
      has(index, head) ? headReward[index] : 0,
      has(index, target) ? 0 : flagPenalties[index] - allPenalties[index],
    ]
    const sum = parts.reduce((total, part) => total + part, 0)
    if (sum !== actualRewards[index] - actualPenalties[index])
      throw new Error(`the parts of validator ${index} do not add up`)
    return parts.map((part) => part || 0)
  })
}
