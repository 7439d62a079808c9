// Spec 4.7: one validator's registry entry and the entity behind it.
import { contract } from '#api/contract/contract.ts'
import type { ValidatorMetadata } from '#api/contract/wire/validators-metadata.ts'
import { createHandler } from '#http/handler.ts'
import type { ValidatorsContext } from '../context.ts'
import { findIndex, type RegistryEntry, readValidator } from '../registry/registry.ts'
import { getNetworkCoverage } from '../requests/coverage.ts'
import { provisionalEntry, provisionalEpochsOf, withProvisional } from '../requests/provisional-epochs.ts'
import { refuseUnlessUnknown } from '../requests/refuse-unless-unknown.ts'
import { allEpochs, toConfidence, withFinality } from '../requests/requested-epochs.ts'

export const metadata = createHandler(contract['validators.metadata'], async (input, context: ValidatorsContext) => {
  const { ingest } = context
  const index = await findIndex(ingest, input.network, input.validator_index_or_pubkey)
  const entry = index === undefined ? undefined : await readValidator(ingest, input.network, index)
  if (!entry) await refuseUnlessUnknown(context, input.network, input.validator_index_or_pubkey)
  const { covered } = await getNetworkCoverage(context, input.network)
  const stored = toConfidence(covered)
  if (!entry) return { is: 'nothing', confidence: stored }
  const provisional = await provisionalEpochsOf(context, input.network, entry.index, allEpochs)
  const newest = { ...entry, ...provisionalEntry(provisional, entry.index) }
  const confidence =
    provisional.length === 0
      ? stored
      : withFinality(toConfidence(withProvisional(covered, provisional)), { isFinal: false })
  return { is: 'body', body: toMetadata(newest), confidence }
})

/** Unknown values are null, unknown lists are empty (behaviour/validators.md#validator-metadata). */
export const toMetadata = (entry: RegistryEntry): ValidatorMetadata => ({
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
