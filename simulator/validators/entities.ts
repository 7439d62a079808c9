// The file that tells who is behind the demo world's validators, as an operator would write one: by deposit address, by
// withdrawal address, by index. Whoever is not in it stays unknown.
import { depositorsOf } from './behaviour.ts'

/** Two that can be compared. */
export const poolNames = ['Lantern Pool', 'Harbour Staking'] as const

const header = 'index,depositAddress,withdrawalAddress,pool,subpool,dvtNetwork,nodeOperators,dvtOperators'

export function entityFile(accounts: readonly string[]): string {
  const depositor = depositorsOf(accounts)
  const [lantern, harbour] = poolNames
  const pooled = [
    `,${depositor(0)},,${lantern},Lantern North,,Fjord Nodes;Basalt Systems,`,
    `,${depositor(20)},,${lantern},Lantern South,,Cedar Validation,`,
    ...[36, 37].map((index) => `,,${depositor(index)},${harbour},,,Harbour Operations,`),
  ]
  // Those whose credentials name no address are not found by it.
  const unnamed = [41, 48, 55].map((index) => `${index},,,${harbour},,,Harbour Operations,`)
  const shared = Array.from({ length: 16 }, (_, at) => {
    const network = at % 3 === 0 ? 'Braid' : at % 3 === 1 ? 'Weft' : ''
    const clusters = network === '' ? '' : 'Heron House cluster;Willow Rack cluster;Otter Lab cluster'
    return `${60 + at},,,Meadow Collective,Meadow Home,${network},Heron House;Willow Rack;Otter Lab,${clusters}`
  })
  return [header, ...pooled, ...unnamed, ...shared, ''].join('\n')
}
