// The default network of the validators page: the first one that this server has data of.
import { useQuery } from '@tanstack/preact-query'
import { type Network, networks } from '#api/contract/wire/networks.ts'
import type { StreamView } from '#shared/console-calls.ts'
import { readJson } from '../../http.ts'

type Streams = readonly Pick<StreamView, 'group' | 'name'>[]

/** The first network that has a stream; those of the specification come first. */
export function defaultNetwork(streams: Streams): Network {
  const found = streams.flatMap(({ group, name }) => (group === 'validators' ? name.replace(/^network /, '') : []))
  return networks.find((network) => found.includes(network)) ?? found[0] ?? networks[0]
}

/** Undefined while loading; mainnet if loading fails. */
export function useDefaultNetwork(): Network | undefined {
  const { data, isError } = useQuery({
    queryKey: ['coverage', 'networks'],
    staleTime: 60_000,
    queryFn: async () => defaultNetwork((await readJson<{ streams: Streams }>('/coverage')).streams),
  })
  return data ?? (isError ? networks[0] : undefined)
}
