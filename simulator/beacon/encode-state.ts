// Simulated states as SSZ. The layout follows the consensus specifications; fields that ingest does not read are zero.
import { isForkFrom } from '#sources/beacon/consensus.ts'
import { withOffsets } from '#sources/beacon/ssz-type.ts'
import { infinitySignature } from './encode-payload.ts'
import { churnFields, gloasFields, mixBytes, partialWithdrawal, sweepPosition } from './gloas/encode-gloas-state.ts'
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
  const { validators, finalized, justified, previousJustified, queue, consolidations, syncCommittees, gloas } = snapshot
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
    fixed(mixBytes(gloas)),
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
    ...(gloas ? [fixed(hex(gloas.latestHash))] : isForkFrom(fork, 'bellatrix') ? [variable(Buffer.alloc(584))] : []),
    ...(isForkFrom(fork, 'capella') ? [fixed(sweepPosition(gloas)), variable(Buffer.alloc(0))] : []),
    ...(isForkFrom(fork, 'electra')
      ? [
          fixed(churnFields(gloas)),
          variable(Buffer.concat(queue.map(pendingDeposit))),
          variable(Buffer.concat(gloas?.partials.map(partialWithdrawal) ?? [])),
          variable(Buffer.concat(consolidations.map(({ from, to }) => Buffer.concat([u64(from), u64(to)])))),
        ]
      : []),
    ...(isForkFrom(fork, 'fulu') ? [fixed(Buffer.concat(lookahead.map(u64)))] : []),
    ...(gloas ? gloasFields(gloas) : []),
  ])
}

const pendingDeposit = ({ pubkey, credentials, gwei, slot, isExcess }: SimulatedPendingDeposit): Buffer => {
  const signature = isExcess ? hex(infinitySignature) : Buffer.alloc(96)
  return Buffer.concat([hex(pubkey), hex(credentials), u64(gwei), signature, u64(slot)])
}
