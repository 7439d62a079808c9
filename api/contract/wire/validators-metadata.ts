// Group C of the specification: metadata of a validator.
import { Count, endpoint, every, nullable, type Static, Text, Type, Whole } from '../kit.ts'
import { IndexOrPubkey, network, oneValidatorFaults } from './validators.ts'
import { metadataDescriptions } from './validators-descriptions.ts'

export const ValidatorMetadata = Type.Object({
  ...every(Count, ['validatorIndex'], metadataDescriptions),
  ...every(Text, ['validatorPubkey'], metadataDescriptions),
  ...every(nullable(Text), ['pool', 'dvtNetwork'], metadataDescriptions),
  ...every(nullable(Type.Array(Text)), ['nodeOperators', 'depositAddresses', 'dvtOperators'], metadataDescriptions),
  ...every(
    nullable(Whole),
    ['activationEpoch', 'activationEligibilityEpoch', 'exitEpoch', 'withdrawableEpoch'],
    metadataDescriptions,
  ),
  ...every(nullable(Text), ['withdrawalAddress', 'subpool'], metadataDescriptions),
})
export type ValidatorMetadata = Static<typeof ValidatorMetadata>

export const metadata = endpoint('validators.metadata', {
  summary: 'Metadata of one validator: pool, operators, deposit and withdrawal addresses.',
  notes: 'Unknown strings and far-future epochs are null; unknown lists are empty.',
  input: Type.Object({ network, validator_index_or_pubkey: IndexOrPubkey }),
  reply: ValidatorMetadata,
  faults: oneValidatorFaults,
  example: {
    input: { validator_index_or_pubkey: '12' },
    reply: {
      validatorIndex: 12,
      validatorPubkey: `0x${'ab'.repeat(48)}`,
      pool: 'Lighthouse Pool',
      dvtNetwork: null,
      nodeOperators: ['North Node'],
      depositAddresses: ['0x1111111111111111111111111111111111111111'],
      dvtOperators: [],
      activationEpoch: 102400,
      activationEligibilityEpoch: 102380,
      exitEpoch: null,
      withdrawableEpoch: null,
      withdrawalAddress: '0x2222222222222222222222222222222222222222',
      subpool: null,
    },
  },
})
