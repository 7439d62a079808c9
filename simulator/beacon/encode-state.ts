// Simulated states as SSZ. The layout follows the consensus specifications; fields that ingest does not read are zero.
import { isForkFrom } from '#sources/beacon/consensus.ts'
import { withOffsets } from '#sources/beacon/ssz-type.ts'
import { forkOf, type NetworkPlan } from './plan.ts'
import type { SimulatedPendingDeposit, SimulatedValidator, Snapshot } from './records.ts'
import { bitsOf, fixed, hex, u64, variable, zeros } from './ssz-writer.ts'

const record = (validator: Readonly<SimulatedValidator>): Buffer =>
  Buffer.concat([
    hex(validator.pubkey),
    hex(validator.credentials),
    u64(validator.effective),
    Buffer.from([validator.slashed ? 1 : 0]),
    ...[validator.eligible, validator.activation, validator.exit, validator.withdrawable].map(u64),
  ])

export function stateBytes(slot: number, snapshot: Snapshot, plan: NetworkPlan): Buffer {
  const { validators, finalized, justified, previousJustified, queue, consolidations, syncCommittees } = snapshot
  const fork = forkOf(plan, Math.floor(slot / plan.slotsPerEpoch))
  const lookahead = Array.from({ length: 2 * plan.slotsPerEpoch }, (_, at) => snapshot.lookahead[at] ?? 0)
  return withOffsets([
    zeros(8 + 32),
    fixed(u64(slot)),
    zeros(16 + 112 + 2 * 32 * 16),
    variable(Buffer.alloc(0)),
    zeros(72),
    variable(Buffer.alloc(0)),
    zeros(8),
    variable(Buffer.concat(validators.map(record))),
    variable(Buffer.concat(validators.map(({ balance }) => u64(balance)))),
    zeros(32 * 16),
    fixed(Buffer.concat(snapshot.slashings.map(u64))),
    variable(Buffer.from(validators.map(({ previous }) => previous))),
    variable(Buffer.from(validators.map(({ current }) => current))),
    fixed(bitsOf(snapshot.justificationBits, 8)),
    ...[previousJustified, justified].flatMap((epoch) => [fixed(u64(epoch)), zeros(32)]),
    fixed(u64(finalized)),
    zeros(32),
    variable(Buffer.concat(validators.map(({ score }) => u64(score)))),
    ...[syncCommittees.now, syncCommittees.next].flatMap((seats) => [
      ...seats.map((index) => fixed(hex((validators[index] as SimulatedValidator).pubkey))),
      zeros(48),
    ]),
    ...(isForkFrom(fork, 'bellatrix') ? [variable(Buffer.alloc(584))] : []),
    ...(isForkFrom(fork, 'capella') ? [zeros(16), variable(Buffer.alloc(0))] : []),
    ...(isForkFrom(fork, 'electra')
      ? [
          zeros(48),
          variable(Buffer.concat(queue.map(pendingDeposit))),
          variable(Buffer.alloc(0)),
          variable(Buffer.concat(consolidations.map(({ from, to }) => Buffer.concat([u64(from), u64(to)])))),
        ]
      : []),
    ...(isForkFrom(fork, 'fulu') ? [fixed(Buffer.concat(lookahead.map(u64)))] : []),
  ])
}

const pendingDeposit = ({ pubkey, credentials, gwei, slot }: SimulatedPendingDeposit): Buffer =>
  Buffer.concat([hex(pubkey), hex(credentials), u64(gwei), Buffer.alloc(96), u64(slot)])
