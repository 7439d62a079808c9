// Explorer: from an address to who funded it and where that leads; from a name to its addresses.
import { type FormEvent, useState } from 'react'
import { useEndpoint } from '../calls.ts'
import { useChainName, useChains } from '../parts/use-chains.ts'
import { go, type PageRoute } from '../route.ts'
import { Funding } from './explorer/funding.tsx'
import { Labels } from './explorer/labels.tsx'
import { Search, Suggestions } from './explorer/search.tsx'
import { depths, Trail } from './explorer/trail.tsx'

const addressText = /^0x[0-9a-f]{40}$/

export function Explorer({ place }: { readonly place: PageRoute }) {
  const chains = useChains()
  const [chain = chains?.[0] ?? '1', given = ''] = place.parts
  const words = place.query.get('q') ?? ''
  const address = given.toLowerCase()
  const isAddress = addressText.test(address)
  return (
    <>
      <h1>Explorer</h1>
      <p className="lead">
        Where an address got its first coin from, and where that came from, back to somebody with a name.
      </p>
      <SearchForm key={`${chain}/${given}/${words}`} chain={chain} chains={chains ?? []} text={given || words} />
      {isAddress ? (
        <Address chain={chain} address={address} depth={depthIn(place.query)} />
      ) : given !== '' ? (
        <p role="alert" className="note bad">
          {given} is not an address: 0x and 40 hexadecimal digits.
        </p>
      ) : words !== '' ? (
        <Search words={words} chain={chain} />
      ) : (
        <>
          <Suggestions chain={chain} />
          <Labels chain={chain} words={place.query.get('only') ?? ''} page={Number(place.query.get('page')) || 0} />
        </>
      )}
    </>
  )
}

interface AddressProps {
  readonly chain: string
  readonly address: string
  readonly depth: number
}

function Address({ chain, address, depth }: AddressProps) {
  const funding = useEndpoint('explorer.fundedBy', { chainid: chain, address })
  const trail = useEndpoint('explorer.trail', { chainid: chain, address, depth }, { keepPrevious: true })
  // Without a first hop, the first funding has said why already.
  const nowhere = funding.error && (trail.error || trail.data?.reply.result.hops.length === 0)
  return (
    <>
      <Funding chain={chain} query={funding} trail={trail.data} />
      {!nowhere && <Trail chain={chain} depth={depth} query={trail} />}
    </>
  )
}

function depthIn(query: URLSearchParams): number {
  const asked = Number(query.get('depth') ?? depths.usual)
  return Number.isInteger(asked) && asked >= 1 && asked <= depths.max ? asked : depths.usual
}

interface SearchFormProps {
  readonly chain: string
  readonly chains: readonly string[]
  readonly text: string
}

/** One field for both: whatever is not a whole address is a name, or the beginning of an address. */
function SearchForm({ chain: shown, chains, text: initialText }: SearchFormProps) {
  const [text, setText] = useState(initialText)
  const [chain, setChain] = useState(shown)
  const chainName = useChainName()
  const choices = chains.includes(shown) ? chains : [shown, ...chains]
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const target = text.trim()
    if (addressText.test(target.toLowerCase())) go('explorer', [chain, target.toLowerCase()])
    else go('explorer', [chain], { q: target })
  }
  return (
    <form className="card row" onSubmit={submit}>
      <label className="field wide">
        Address or name
        <input
          className="mono"
          type="search"
          autoComplete="off"
          spellCheck={false}
          placeholder="0x…, or words of a name"
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
      </label>
      <label className="field">
        Chain
        <select
          value={chain}
          onChange={({ target }) => {
            setChain(target.value)
            if (text.trim() === '') go('explorer', [target.value])
          }}
        >
          {choices.map((id) => (
            <option key={id} value={id}>
              {chainName(id)}
            </option>
          ))}
        </select>
      </label>
      <button type="submit" className="main">
        Look up
      </button>
    </form>
  )
}
