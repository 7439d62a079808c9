// The addresses in a market record with links to the explorer and, on request, their first funding. Records do not contain
// the chain, so the user chooses it. Trails are requested one after another because of their rate limit.
import { useState } from 'preact/compat'
import type { Market } from '#api/contract/wire/markets.ts'
import type { Trail } from '#api/contract/wire/trail.ts'
import { AddressLink } from '../../parts/address-link.tsx'
import { Card } from '../../parts/card.tsx'
import { Choice } from '../../parts/controls.tsx'
import { Failure } from '../../parts/query-result.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { useChainName, useChains } from '../../parts/use-chains.ts'
import { useCalls } from '../../use-endpoint.ts'
import { addressesIn, fieldLabel } from './market-values.ts'

export function Addresses({ market }: { readonly market: Market }) {
  const chains = useChains() ?? ['1']
  const [selectedChain, setSelectedChain] = useState<string>()
  const chainName = useChainName()
  const chain = selectedChain ?? chains[0] ?? '1'
  const [showsFunding, setShowsFunding] = useState(false)
  const mentions = addressesIn(market)
  const addresses = mentions.map(({ address }) => address)
  const trails = useTrails(chain, addresses, showsFunding)
  const fundingColumn: Column<(typeof mentions)[number]> = [
    'First funding',
    ({ address }) => (trails.data ? describeTrailEnd(trails.data.get(address)) : trails.error ? '–' : 'loading…'),
  ]
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
            rows={mentions}
            columns={[
              ['Role', ({ fields }) => fields.map(fieldLabel).join(', ')],
              ['Address', ({ address }) => <AddressLink chain={chain} address={address} isFull />],
              ...(showsFunding ? [fundingColumn] : []),
            ]}
          />
          {trails.error && <Failure error={trails.error} />}
        </>
      )}
    </Card>
  )
}

const useTrails = (chain: string, addresses: readonly string[], isEnabled: boolean) =>
  useCalls(
    ['markets/trails', chain, addresses],
    async ({ client, signal }) => {
      const trails = new Map<string, Trail>()
      for (const address of addresses) {
        const { result } = await client.explorer.trail({ chainid: chain, address }, { signal })
        trails.set(address, result)
      }
      return trails
    },
    { isEnabled, staleMs: Number.POSITIVE_INFINITY },
  )

function describeTrailEnd(trail: Trail | undefined): string {
  if (!trail) return ''
  const { hops, end } = trail
  if (hops.length === 0) return end.message
  return `${hops.length} ${hops.length === 1 ? 'hop' : 'hops'} back: ${end.message}`
}
