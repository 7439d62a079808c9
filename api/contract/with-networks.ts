// An endpoint of a certain server: its networks are those that the server has.
import { type Endpoint, oneOf, withDefault } from './kit.ts'
import { networkNamePattern } from './wire/networks.ts'

export function withNetworks<E extends Endpoint>(endpoint: E, names: readonly string[]): E {
  const { network } = endpoint.input.properties as { readonly network?: { readonly pattern?: string } }
  if (network?.pattern !== networkNamePattern) return endpoint
  const named = withDefault(oneOf(names, { description: 'The beacon chain network.' }), 'mainnet')
  const { input } = endpoint
  return { ...endpoint, input: { ...input, properties: { ...input.properties, network: named } } }
}
