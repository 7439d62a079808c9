// Extension: the duties of one validator in the previous, the current and the next epoch
// (behaviour/validators.md#current-duties).
import { extensions } from '#api/contract/extensions.ts'
import type { CurrentAttestation, CurrentPayloadVote } from '#api/contract/wire/validators-duties.ts'
import { type ChainTime, epochOfSlot, slotStartMs } from '#core/chain-time.ts'
import { createHandler } from '#http/handler.ts'
import type { PayloadStatus } from '#sources/beacon/events.ts'
import type { ValidatorsContext } from '../../context.ts'
import type { CurrentDuties } from '../../ingest/provisional/current-duties.ts'
import { findIndex } from '../../registry/registry.ts'
import { refuseUnlessUnknown } from '../../requests/refuse-unless-unknown.ts'
import { chainTimeOf } from '../../requests/requested-epochs.ts'

export const duties = createHandler(extensions['validators.duties'], async (input, context: ValidatorsContext) => {
  const { network, validator_index_or_pubkey: name } = input
  const validator = await findIndex(context.ingest, network, name)
  if (validator === undefined) {
    await refuseUnlessUnknown(context, network, name)
    return { is: 'nothing' }
  }
  const head = context.validators.provisional.get(network)
  const isKnown = head?.epochs.at(-1)?.watched?.includes(validator) ?? true
  const current = isKnown ? head?.duties : undefined
  if (!current) {
    const nothing = { headSlot: null, headPayload: 'unknown', epoch: null, inSyncCommittee: null } as const
    const body = {
      validatorIndex: validator,
      ...nothing,
      attestations: [],
      proposals: [],
      payloadVotes: [],
      blocks: [],
    }
    return { is: 'body', body, confidence: { coverage: 'none' } }
  }
  const time = chainTimeOf(context.settings, network)
  const epoch = epochOfSlot(time, current.headSlot)
  const payload = context.validators.headPayloads.get(network)
  const payloadStatus = payload?.root === current.headRoot ? payload.status : undefined
  const headPayload: PayloadStatus | 'unknown' = payloadStatus ?? 'unknown'
  return {
    is: 'body',
    body: {
      validatorIndex: validator,
      headSlot: current.headSlot,
      headPayload,
      epoch,
      attestations: listAttestations(time, current, validator),
      proposals: [...current.proposers]
        .filter(([slot, proposer]) => proposer === validator && slot > current.headSlot)
        .map(([slot]) => ({ slot, timestamp: timestampOf(time, slot) })),
      payloadVotes: current.payloadVotes
        .filter((duty) => duty.validator === validator)
        .map((duty) => toPayloadVote(time, duty)),
      blocks: current.blocks
        .filter(({ proposer }) => proposer === validator)
        .map(({ slot, payload, builder = null, valueGwei }) => ({ slot, payload, builder, valueGwei })),
      inSyncCommittee: current.syncCommittee?.includes(validator) ?? null,
    },
    confidence: { asOf: epoch, finality: 'head', coverage: 'complete' },
  }
})

const timestampOf = (time: ChainTime, slot: number, afterMs = 0): string =>
  new Date(slotStartMs(time, slot) + afterMs).toISOString()

const toPayloadVote = (
  time: ChainTime,
  { epoch, slot, dueMs, state, vote }: CurrentDuties['payloadVotes'][number],
): CurrentPayloadVote => ({
  ...{ epoch, slot, timestamp: timestampOf(time, slot), dueTimestamp: timestampOf(time, slot, dueMs), state },
  payloadSeen: vote?.isPresent ?? null,
  blobsSeen: vote?.hasBlobs ?? null,
})

const listAttestations = (
  time: ChainTime,
  { headSlot, epochs }: CurrentDuties,
  validator: number,
): CurrentAttestation[] =>
  epochs.flatMap(({ epoch, dueMs, ...columns }) => {
    const at = columns.validator.indexOf(validator)
    if (at < 0) return []
    const [slot, committee] = [columns.slot[at] as number, columns.committee[at] as number]
    const includedSlot = columns.includedSlot[at] as number
    const isIncluded = includedSlot >= 0
    const state = isIncluded ? 'included' : slot < headSlot ? 'missing' : 'due'
    const delay = isIncluded ? includedSlot - slot : null
    const [timestamp, dueTimestamp] = [timestampOf(time, slot), timestampOf(time, slot, dueMs)]
    return [{ epoch, slot, timestamp, dueTimestamp, committee, state, delay }]
  })
