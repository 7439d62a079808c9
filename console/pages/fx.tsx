// The FX page: request a quote, see how it was priced, sign it with a wallet and check a signature. The id of the quote is
// in the address, so that you can return to it.
import type { StoredQuote } from '#api/console.ts'
import { operator } from '../operator.ts'
import { DemoKeyButton } from '../parts/demo.tsx'
import { noKeyYet } from '../parts/failures.ts'
import { QueryResult } from '../parts/query-result.tsx'
import { hrefOf, type PageProps } from '../route.ts'
import { useRemember } from '../search/recent.ts'
import { RecentLinks } from '../search/recent-links.tsx'
import { useConsoleContext } from '../session.tsx'
import { useCalls } from '../use-endpoint.ts'
import { CheckSignature } from './fx/check-signature.tsx'
import { QuoteCard } from './fx/quote-card.tsx'
import { QuoteList } from './fx/quote-list.tsx'
import { ReceiptCard } from './fx/receipt-card.tsx'
import { RequestQuote } from './fx/request-quote.tsx'
import { TypedDataCard } from './fx/typed-data-card.tsx'

const quoteIdPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const exampleQuoteId = '6f1c0a52-7f6e-4c1a-9b0e-0d8f2f3a4b5c'

export function Fx({ route }: PageProps) {
  const [id] = route.parts
  const { key, session } = useConsoleContext()
  return (
    <>
      <h1>FX</h1>
      <p className="lead">Request a quote, see how it was priced, sign it with your wallet, and check a signature.</p>
      {id !== undefined && !quoteIdPattern.test(id) && (
        <div role="alert" className="note">
          <code>{id}</code> is not a quote id. A quote id has 36 characters, for example <code>{exampleQuoteId}</code>.
          The response that created the quote contains it. You can also request a new quote here.
        </div>
      )}
      {key === '' ? (
        <div className="note warn">
          {noKeyYet} <DemoKeyButton />
        </div>
      ) : (
        <RequestQuote />
      )}
      {id === undefined && <RecentLinks page="fx" />}
      {id === undefined && session.signedIn && <QuoteList />}
      {id !== undefined && quoteIdPattern.test(id) && key !== '' && <QuoteDetails key={id} id={id} />}
    </>
  )
}

/** A quote with its receipt: by the key that created it, or by the operator's session, which may read all quotes. */
function useQuote(id: string) {
  const { signedIn } = useConsoleContext().session
  return useCalls(['quote', id, signedIn], async ({ client, signal }): Promise<StoredQuote> => {
    if (signedIn) return operator.quote(id)
    const [quote, receipt] = await Promise.all([
      client.fx.quote({ id }, { signal }),
      client.fx.receipt({ id }, { signal }),
    ])
    return { quote, receipt }
  })
}

function QuoteDetails({ id }: { readonly id: string }) {
  const stored = useQuote(id)
  const { from, to } = stored.data?.quote ?? {}
  useRemember(
    from &&
      to && { kind: 'Quote', label: `${from.amount} ${from.currency} to ${to.currency}`, href: hrefOf('fx', [id]) },
  )
  return (
    <QueryResult
      of={stored}
      waiting="Loading the quote…"
      notFound={
        <>
          Quote <code>{id}</code> does not exist for this key. Only the key that created a quote can read it, and the
          operator.
        </>
      }
    >
      {({ quote, receipt }) => (
        <>
          <QuoteCard quote={quote} />
          {quote.typedData && (
            <>
              <TypedDataCard quote={quote} typedData={quote.typedData} />
              <CheckSignature id={id} />
            </>
          )}
          <ReceiptCard signed={receipt} />
        </>
      )}
    </QueryResult>
  )
}
