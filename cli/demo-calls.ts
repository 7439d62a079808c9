// One call for each endpoint of the specification that works with the demo data, for visitors to copy.
import { contract } from '#api/contract/contract.ts'
import type { EndpointId } from '#api/contract/routes.ts'
import { curlOf, keyVariable } from '#api/contract/samples.ts'
import type { DemoSamples } from '#simulator/demo.ts'

interface DemoCall {
  readonly title: string
  readonly command: string
}

/** The commands read the key from the environment, like those of the documentation. */
export function demoCalls(url: string, samples: DemoSamples): DemoCall[] {
  const inputs = demoInputs(samples)
  return Object.values(contract).map(({ id, summary, auth }) => ({
    title: `${id}: ${summary}`,
    command: curlOf(id, url, inputs[id], auth === 'open' ? undefined : keyVariable),
  }))
}

/** With every parameter that the specification requires. */
export function demoInputs(samples: DemoSamples): Readonly<Record<EndpointId, Readonly<Record<string, unknown>>>> {
  const [index = 0] = samples.indices
  return {
    'explorer.labelListV2': { chainid: '1' },
    'explorer.labelListV1': {},
    'explorer.fundedBy': { chainid: '1', address: samples.address },
    'fx.createQuote': contract['fx.createQuote'].example.input,
    'validators.aggregateEffectiveness': { indices: samples.indices, size: 2 },
    'validators.effectiveness': { validator_index_or_pubkey: index, limit: 2 },
    'validators.metadata': { validator_index_or_pubkey: index },
    'markets.bySlug': { slug: samples.slug },
  }
}
