// The default network of the validators page: the first one that this server has data of.
import { useQuery } from '@tanstack/preact-query'
import { type Network, networks } from '#api/contract/wire/networks.ts'
import type { StreamView } from '#shared/console-calls.ts'
import { readJson } from '../../http.ts'

type Streams = readonly Pick<StreamView, 'group' | 'name'>[]

export const defaultNetwork = (streams: Streams): Network =>
  networks.find((network) =>
    streams.some(({ group, name }) => group === 'validators' && name === `network ${network}`),
  ) ?? networks[0]

/** Undefined while loading; mainnet if loading fails. */
export function useDefaultNetwork(): Network | undefined {
  const { data, isError } = useQuery({
    queryKey: ['coverage', 'networks'],
    staleTime: 60_000,
    queryFn: async () => defaultNetwork((await readJson<{ streams: Streams }>('/coverage')).streams),
  })
  return data ?? (isError ? networks[0] : undefined)
}
