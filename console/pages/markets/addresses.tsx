// The addresses in a market record with links to the explorer and, on request, their first funding. Records do not contain
// the chain, so the user chooses it. Trails are requested one after another because of their rate limit.
import { useQuery } from '@tanstack/preact-query'
import { useState } from 'preact/compat'
import type { Market } from '#api/wire/markets.ts'
import type { Trail } from '#api/wire/trail.ts'
import { Card } from '../../parts/card.tsx'
import { Choice } from '../../parts/controls.tsx'
import { Failure } from '../../parts/query-result.tsx'
import { Table } from '../../parts/table.tsx'
import { useChainName, useChains } from '../../parts/use-chains.ts'
import { hrefOf } from '../../route.ts'
import { useConsoleContext } from '../../session.tsx'
import { addressesIn, fieldLabel } from './market-values.ts'

export function Addresses({ market }: { readonly market: Market }) {
  const chains = useChains() ?? ['1']
  const [selectedChain, setSelectedChain] = useState<string>()
  const chainName = useChainName()
  const chain = selectedChain ?? chains[0] ?? '1'
  const [showsFunding, setShowsFunding] = useState(false)
  const mentions = addressesIn(market)
  const trails = useTrails(
    chain,
    mentions.map(({ address }) => address),
    showsFunding,
  )
  return (
    <Card id="addresses-title" title="Addresses">
      {mentions.length === 0 ? (
        <p className="note">This record contains no addresses.</p>
      ) : (
        <>
          <div className="row spaced">
            <Choice label="Chain" value={chain} options={chains} labels={chainName} onChoose={setSelectedChain} />
            <button type="button" disabled={showsFunding} onClick={() => setShowsFunding(true)}>
              Show first funding
            </button>
          </div>
          <Table
            name="Addresses of the market"
            columns={['Role', 'Address', ...(showsFunding ? ['First funding'] : [])]}
          >
            {mentions.map(({ address, fields }) => (
              <tr key={address}>
                <td>{fields.map(fieldLabel).join(', ')}</td>
                <td>
                  <a className="mono" href={hrefOf('explorer', [chain, address])}>
                    {address}
                  </a>
                </td>
                {showsFunding && (
                  <td>{trails.data ? describeTrailEnd(trails.data.get(address)) : trails.error ? '–' : 'loading…'}</td>
                )}
              </tr>
            ))}
          </Table>
          {trails.error && <Failure error={trails.error} />}
        </>
      )}
    </Card>
  )
}

function useTrails(chain: string, addresses: readonly string[], isEnabled: boolean) {
  const { client, key } = useConsoleContext()
  return useQuery({
    queryKey: ['markets/trails', chain, addresses, key],
    enabled: isEnabled,
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
