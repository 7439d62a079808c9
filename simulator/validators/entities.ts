// The entity file of the demo: pools and operators by deposit address, withdrawal address or index, as an operator
// would write it. Some validators are not in it.
import { depositorsOf } from './behaviour.ts'

export const poolNames = ['Lantern Pool', 'Harbour Staking'] as const

/** A pool that the configuration of the demo names, and no file. */
export const configuredPool = { indices: '80-85', pool: 'Tidewater Staking', nodeOperators: ['Tidewater Works'] }

const header = 'index,depositAddress,withdrawalAddress,pool,subpool,dvtNetwork,nodeOperators,dvtOperators'

export function entityFile(accounts: readonly string[]): string {
  const depositor = depositorsOf(accounts)
  const [lantern, harbour] = poolNames
  const pooled = [
    `,${depositor(0)},,${lantern},Lantern North,,Fjord Nodes;Basalt Systems,`,
    `,${depositor(20)},,${lantern},Lantern South,,Cedar Validation,`,
    ...[36, 37].map((index) => `,,${depositor(index)},${harbour},,,Harbour Operations,`),
  ]
  // These have BLS credentials, so they cannot be found by withdrawal address.
  const unnamed = [41, 48, 55].map((index) => `${index},,,${harbour},,,Harbour Operations,`)
  const shared = Array.from({ length: 16 }, (_, at) => {
    const network = at % 3 === 0 ? 'Braid' : at % 3 === 1 ? 'Weft' : ''
    const clusters = network === '' ? '' : 'Heron House cluster;Willow Rack cluster;Otter Lab cluster'
    return `${60 + at},,,Meadow Collective,Meadow Home,${network},Heron House;Willow Rack;Otter Lab,${clusters}`
  })
  return [header, ...pooled, ...unnamed, ...shared, ''].join('\n')
}
