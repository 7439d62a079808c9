// The explorer page: first funding and funding trail of an address, search of labels by name, entities, transactions.
import { useState } from 'preact/compat'
import { Choice, Form, Submit, TextField } from '../parts/controls.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { shortenHex } from '../parts/format.ts'
import { useChainName, useChains } from '../parts/use-chains.ts'
import { go, hrefOf, type PageProps } from '../route.ts'
import { useRemember } from '../search/recent.ts'
import { RecentLinks } from '../search/recent-links.tsx'
import { useEndpoint } from '../use-endpoint.ts'
import { Entity } from './explorer/entity.tsx'
import { Funding } from './explorer/funding.tsx'
import { Labels } from './explorer/labels.tsx'
import { ManyAddresses } from './explorer/many-addresses.tsx'
import { Search, Suggestions } from './explorer/search.tsx'
import { depths, Trail } from './explorer/trail.tsx'
import { Transaction } from './explorer/transaction.tsx'
import './explorer/explorer.css'

const addressPattern = /^0x[0-9a-f]{40}$/
const hashPattern = /^0x[0-9a-f]{64}$/

export function Explorer({ route }: PageProps) {
  const [kind, id = ''] = route.parts
  if (kind === 'entity') return <Entity slug={id} />
  if (kind === 'tx') return <Transaction hash={id.toLowerCase()} />
  return <Chain route={route} />
}

function Chain({ route }: PageProps) {
  const chains = useChains()
  const [chain = chains?.[0] ?? '1', text = ''] = route.parts
  const search = route.query.get('q') ?? ''
  const address = text.toLowerCase()
  const isAddress = addressPattern.test(address)
  return (
    <>
      {isAddress ? (
        <AddressHeading chain={chain} address={address} />
      ) : (
        <>
          <h1>Explorer</h1>
          <p className="lead">Find the first funding of an address and trace it back to a known entity.</p>
        </>
      )}
      <SearchForm
        key={`${chain}/${text}/${search}`}
        chain={chain}
        chains={chains ?? []}
        text={isAddress ? '' : text || search}
      />
      {isAddress ? (
        <Address chain={chain} address={address} depth={depthIn(route.query)} />
      ) : text !== '' ? (
        <p role="alert" className="note bad">
          {text} is not an address. An address is 0x followed by 40 hexadecimal digits.
        </p>
      ) : search !== '' ? (
        <Search text={search} chain={chain} />
      ) : (
        <>
          <Suggestions chain={chain} />
          <RecentLinks page="explorer" />
          <Labels chain={chain} filter={route.query.get('filter') ?? ''} page={Number(route.query.get('page')) || 0} />
          <ManyAddresses key={chain} chain={chain} />
        </>
      )}
    </>
  )
}

function AddressHeading({ chain, address }: Pick<AddressProps, 'chain' | 'address'>) {
  const chainName = useChainName()
  return (
    <>
      <p className="small">
        <a href={hrefOf('explorer', [chain])}>Explorer</a> / {chainName(chain)}
      </p>
      <div className="item">
        <h1>
          Address <span className="mono">{address}</span>
        </h1>
        <CopyButton text={address} name="address" />
      </div>
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
  const label = trail.data?.reply.result.label?.name
  useRemember(
    trail.data && { kind: 'Address', label: label ?? shortenHex(address), href: hrefOf('explorer', [chain, address]) },
  )
  // Without a first hop, the first funding already shows the reason.
  const hasNoTrail = funding.error && (trail.error || trail.data?.reply.result.hops.length === 0)
  return (
    <>
      <Funding chain={chain} query={funding} trail={trail.data} />
      {!hasNoTrail && <Trail chain={chain} depth={depth} query={trail} />}
    </>
  )
}

function depthIn(query: URLSearchParams): number {
  const depth = Number(query.get('depth') ?? depths.default)
  return Number.isInteger(depth) && depth >= 1 && depth <= depths.max ? depth : depths.default
}

interface SearchFormProps {
  readonly chain: string
  readonly chains: readonly string[]
  readonly text: string
}

/** Text that is not a complete address or transaction hash is searched as a name or address prefix. */
function SearchForm({ chain: initialChain, chains, text: initialText }: SearchFormProps) {
  const [text, setText] = useState(initialText)
  const [chain, setChain] = useState(initialChain)
  const chainName = useChainName()
  const submit = () => {
    const target = text.trim()
    if (addressPattern.test(target.toLowerCase())) go('explorer', [chain, target.toLowerCase()])
    else if (hashPattern.test(target.toLowerCase())) go('explorer', ['tx', target.toLowerCase()])
    else go('explorer', [chain], { q: target })
  }
  return (
    <Form className="card row" onSubmit={submit}>
      <TextField
        isWide
        label="Address, transaction or name"
        className="mono"
        type="search"
        autoComplete="off"
        spellcheck={false}
        placeholder="0x… or a name"
        value={text}
        onText={setText}
      />
      <Choice
        label="Chain"
        value={chain}
        options={chains.includes(initialChain) ? chains : [initialChain, ...chains]}
        labels={chainName}
        onChoose={(id) => {
          setChain(id)
          if (text.trim() === '') go('explorer', [id])
        }}
      />
      <Submit>Search</Submit>
    </Form>
  )
}
