// The addresses in a market, each a way into the explorer; and on request where their coin came from. A record does not
// say on which chain they live, so that is chosen. One after another, because the trail answers two calls a second.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Market } from '#api/wire/markets.ts'
import type { Trail } from '#api/wire/trail.ts'
import { Columns } from '../../parts/columns.tsx'
import { Failure } from '../../parts/query-result.tsx'
import { Scroll } from '../../parts/scroll.tsx'
import { useChainName, useChains } from '../../parts/use-chains.ts'
import { hrefOf } from '../../route.ts'
import { useConsoleContext } from '../../session.tsx'
import { addressesIn, spelled } from './market-values.ts'

export function Addresses({ market }: { readonly market: Market }) {
  const chains = useChains() ?? ['1']
  const [chosen, setChosen] = useState<string>()
  const chainName = useChainName()
  const chain = chosen ?? chains[0] ?? '1'
  const [wanted, setWanted] = useState(false)
  const mentions = addressesIn(market)
  const trails = useTrails(
    chain,
    mentions.map(({ address }) => address),
    wanted,
  )
  return (
    <section className="card" aria-labelledby="addresses-title">
      <h2 id="addresses-title">Addresses in it</h2>
      {mentions.length === 0 ? (
        <p className="note">This record holds no addresses.</p>
      ) : (
        <>
          <div className="row spaced">
            <label className="field">
              Chain they live on
              <select value={chain} onChange={({ target }) => setChosen(target.value)}>
                {chains.map((id) => (
                  <option key={id} value={id}>
                    {chainName(id)}
                  </option>
                ))}
              </select>
            </label>
            <button type="button" disabled={wanted} onClick={() => setWanted(true)}>
              Who funded them?
            </button>
          </div>
          <Scroll name="Addresses in the market">
            <table>
              <Columns of={['Role', 'Address', ...(wanted ? ['First funded'] : [])]} />
              <tbody>
                {mentions.map(({ address, fields }) => (
                  <tr key={address}>
                    <td>{fields.map(spelled).join(', ')}</td>
                    <td>
                      <a className="mono" href={hrefOf('explorer', [chain, address])}>
                        {address}
                      </a>
                    </td>
                    {wanted && (
                      <td>
                        {trails.data ? describeTrailEnd(trails.data.get(address)) : trails.error ? '–' : 'asking…'}
                      </td>
                    )}
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
          {trails.error && <Failure error={trails.error} />}
        </>
      )}
    </section>
  )
}

function useTrails(chain: string, addresses: readonly string[], when: boolean) {
  const { client, key } = useConsoleContext()
  return useQuery({
    queryKey: ['markets/trails', chain, addresses, key],
    enabled: when,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      const trails = new Map<string, Trail>()
      for (const address of addresses) {
        const { result } = await client.explorer.trail({ chainid: chain, address }, { signal, retries: 3 })
        trails.set(address, result)
      }
      return trails
    },
  })
}

function describeTrailEnd(trail: Trail | undefined): string {
  if (!trail) return ''
  const { hops, end } = trail
  if (hops.length === 0) return end.message
  return `${hops.length} ${hops.length === 1 ? 'hop' : 'hops'} back: ${end.message}`
}
