// Spec 4.7: one validator's registry entry and the entity behind it.
import { contract } from '#api/contract.ts'
import type { ValidatorMetadata } from '#api/wire/validators.ts'
import { answer } from '#serve/answer.ts'
import type { ValidatorsContext } from './context.ts'
import { refuseUnlessNobody } from './nobody.ts'
import { findIndex, type RegistryEntry, readValidator } from './registry.ts'
import { shape } from './shape.ts'
import { confidenceOf } from './span.ts'
import { standingOf } from './standing.ts'

export const metadata = answer(contract['validators.metadata'], shape, async (input, context: ValidatorsContext) => {
  const { state } = context
  const index = await findIndex(state, input.network, input.validator_index_or_pubkey)
  const entry = index === undefined ? undefined : await readValidator(state, input.network, index)
  if (!entry) await refuseUnlessNobody(context, input.network, input.validator_index_or_pubkey)
  const { covered } = await standingOf(context, input.network)
  const confidence = confidenceOf(covered, { from: 0, until: Number.POSITIVE_INFINITY })
  return entry ? { is: 'body', body: toMetadata(entry), confidence } : { is: 'nothing', confidence }
})

/** Decision 0038: what is not known is null, an unknown list is empty; nothing is guessed. */
const toMetadata = (entry: RegistryEntry): ValidatorMetadata => ({
  validatorIndex: entry.index,
  validatorPubkey: entry.pubkey,
  pool: entry.entity?.pool ?? null,
  dvtNetwork: entry.entity?.dvtNetwork ?? null,
  nodeOperators: [...(entry.entity?.nodeOperators ?? [])],
  depositAddresses: [...entry.depositAddresses],
  dvtOperators: [...(entry.entity?.dvtOperators ?? [])],
  activationEpoch: entry.activationEpoch,
  activationEligibilityEpoch: entry.activationEligibilityEpoch,
  exitEpoch: entry.exitEpoch,
  withdrawableEpoch: entry.withdrawableEpoch,
  withdrawalAddress: entry.withdrawalAddress,
  subpool: entry.entity?.subpool ?? null,
})
