// Settings of group C: the clock of each network.
import { Type, withDefault } from '#api/kit.ts'
import { section } from './server.ts'

const network = (genesisUnix: number) =>
  section(
    {
      genesisUnix: withDefault(Type.Integer({ minimum: 0, description: 'Genesis, Unix seconds.' }), genesisUnix),
      slotSeconds: withDefault(Type.Integer({ minimum: 1, description: 'Length of a slot.' }), 12),
      slotsPerEpoch: withDefault(Type.Integer({ minimum: 1, description: 'Slots in an epoch.' }), 32),
      epochsPerHour: withDefault(Type.Integer({ minimum: 1, description: 'Epochs in a chain hour.' }), 9),
      epochsPerDay: withDefault(Type.Integer({ minimum: 1, description: 'Epochs in a chain day.' }), 225),
    },
    'Chain time of one network.',
  )

export const validatorsSettings = section(
  {
    networks: section(
      { mainnet: network(1_606_824_023), hoodi: network(1_742_213_400), holesky: network(1_695_902_400) },
      'Networks by the name in the header.',
    ),
  },
  'Validator ratings.',
)
