// Committees and duties of a simulated epoch, as Beacon API JSON.
import type { NetworkPlan } from './plan.ts'
import type { EpochRecord } from './records.ts'

export const committeesJson = ({ epoch, committees }: EpochRecord, plan: NetworkPlan) =>
  committees.map((members, at) => ({
    index: String(at % plan.committeesPerSlot),
    slot: String(epoch * plan.slotsPerEpoch + Math.floor(at / plan.committeesPerSlot)),
    validators: members.map(String),
  }))

export const proposerDutiesJson = ({ epoch, proposers }: EpochRecord) =>
  proposers.map((index, at) => ({ slot: String(epoch * proposers.length + at), validator_index: String(index) }))

export const syncDutiesJson = ({ sync }: EpochRecord, requested: ReadonlySet<number>) =>
  [...Map.groupBy([...sync.entries()], ([, index]) => index)]
    .filter(([index]) => requested.has(index))
    .map(([index, ownSeats]) => ({
      validator_index: String(index),
      validator_sync_committee_indices: ownSeats.map(([seat]) => String(seat)),
    }))

export const attesterDutiesJson = (
  { epoch, committees }: EpochRecord,
  { slotsPerEpoch, committeesPerSlot }: NetworkPlan,
  requested: ReadonlySet<number>,
) =>
  committees.flatMap((members, at) =>
    members
      .map((index, position) => ({
        validator_index: String(index),
        committee_index: String(at % committeesPerSlot),
        committee_length: String(members.length),
        committees_at_slot: String(committeesPerSlot),
        validator_committee_index: String(position),
        slot: String(epoch * slotsPerEpoch + Math.floor(at / committeesPerSlot)),
      }))
      .filter(({ validator_index }) => requested.has(Number(validator_index))),
  )
