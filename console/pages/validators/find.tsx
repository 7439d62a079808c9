// The start of the validators page: one search field for every kind of search, and the lists of pools and operators.
import { useState } from 'preact/compat'
import type { Network } from '#api/contract/wire/validators.ts'
import { Form, Submit, TextField } from '../../parts/controls.tsx'
import { go, hrefOf, type PageProps } from '../../route.ts'
import { RecentLinks } from '../../search/recent-links.tsx'
import { NetworkChoice } from './controls.tsx'
import { Entities } from './entities.tsx'
import { Examples } from './examples.tsx'
import { NamedResults } from './named-results.tsx'
import { ValidatorResults } from './results.tsx'
import { parseSearch, type SearchField } from './search.ts'
import type { ValidatorsView } from './view.ts'

export function Find({ route, view }: PageProps & { readonly view: ValidatorsView }) {
  const { network } = view
  const q = route.query.get('q') ?? ''
  const search = parseSearch(q)
  return (
    <>
      <h1>Validators</h1>
      <p className="lead">
        Effectiveness, rewards and penalties of validators, computed from finalized epochs. Find a validator, or compare
        several.
      </p>
      <section className="card" aria-label="Search validators">
        <div className="row">
          <NetworkChoice view={view} onView={(newView) => go('validators', [], { network: newView.network, q })} />
          <Search key={q} q={q} network={network} />
          <a href={hrefOf('validators', ['compare'], { network })}>Compare</a>
        </div>
        <Examples network={network} />
        <RecentLinks page="validators" />
      </section>
      {search.kind === 'one' && (
        <p className="note">
          This is the id of one validator: <a href={hrefOf('validators', [search.id], { network })}>open its page</a>.
        </p>
      )}
      {search.kind === 'some' &&
        search.by.map((by) => (
          <ValidatorResults
            key={`${by} ${search.value}`}
            title={`${titles[by]} ${search.value}`}
            network={network}
            query={{ [by]: search.value }}
          />
        ))}
      {search.kind === 'name' && <NamedResults key={search.value} network={network} name={search.value} />}
      {search.kind === 'empty' && <Entities key={network} network={network} />}
    </>
  )
}

const titles: Readonly<Record<SearchField, string>> = {
  pubkey: 'Public keys starting with',
  depositAddress: 'Validators with deposit address',
  withdrawalAddress: 'Validators with withdrawal address',
}

function Search({ q, network }: { readonly q: string; readonly network: Network }) {
  const [text, setText] = useState(q)
  const submit = () => {
    const search = parseSearch(text)
    if (search.kind === 'one') go('validators', [search.id], { network })
    else go('validators', [], { network, q: text.trim() })
  }
  return (
    <Form className="row search" onSubmit={submit} aria-label="Search">
      <TextField
        isWide
        label="Index, public key, pool, operator, deposit or withdrawal address"
        className="mono"
        type="search"
        value={text}
        onText={setText}
      />
      <Submit>Search</Submit>
    </Form>
  )
}
