// Which network is looked at when nothing is said: the first of those that this server reads or has data of.
import { useQuery } from '@tanstack/react-query'
import type { StreamView } from '#api/console.ts'
import type { Network } from '#api/wire/validators.ts'
import { readJson } from '../../http.ts'
import { networks } from './view.ts'

type Streams = readonly Pick<StreamView, 'group' | 'name'>[]

export const defaultNetwork = (streams: Streams): Network =>
  networks.find((network) =>
    streams.some(({ group, name }) => group === 'validators' && name === `network ${network}`),
  ) ?? networks[0]

/** Undefined until it is known. Where nothing can be found out, the usual one must do. */
export function useDefaultNetwork(): Network | undefined {
  const { data, isError } = useQuery({
    queryKey: ['coverage', 'networks'],
    staleTime: 60_000,
    queryFn: async () => defaultNetwork((await readJson<{ streams: Streams }>('/coverage')).streams),
  })
  return data ?? (isError ? networks[0] : undefined)
}
