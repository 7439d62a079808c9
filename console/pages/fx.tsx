// The FX page: request a quote, see how it was priced, sign it with a wallet and check a signature. The id of the quote is
// in the address, so that you can return to it.

import { NoKeyNote } from '../parts/no-key-note.tsx'
import { QueryResult } from '../parts/query-result.tsx'
import type { PageProps } from '../route.ts'
import { useConsoleContext } from '../session.tsx'
import { useEndpoint } from '../use-endpoint.ts'
import { CheckSignature } from './fx/check-signature.tsx'
import { QuoteCard } from './fx/quote-card.tsx'
import { ReceiptCard } from './fx/receipt-card.tsx'
import { RequestQuote } from './fx/request-quote.tsx'
import { TypedDataCard } from './fx/typed-data-card.tsx'

const quoteIdPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const exampleQuoteId = '6f1c0a52-7f6e-4c1a-9b0e-0d8f2f3a4b5c'

export function Fx({ route }: PageProps) {
  const [id] = route.parts
  const { key } = useConsoleContext()
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
      {key === '' ? <NoKeyNote /> : <RequestQuote />}
      {id !== undefined && quoteIdPattern.test(id) && key !== '' && (
        <QuoteDetails key={id} id={id} signature={route.query.get('signature') ?? ''} />
      )}
    </>
  )
}

function QuoteDetails({ id, signature }: { readonly id: string; readonly signature: string }) {
  const quote = useEndpoint('fx.quote', { id })
  return (
    <QueryResult
      of={quote}
      waiting="Loading the quote…"
      notFound={
        <>
          Quote <code>{id}</code> does not exist for this key. Only the key that created a quote can read it.
        </>
      }
    >
      {({ reply }) => (
        <>
          <QuoteCard quote={reply} />
          {reply.typedData && (
            <>
              <TypedDataCard quote={reply} typedData={reply.typedData} />
              <CheckSignature id={id} signature={signature} />
            </>
          )}
          <ReceiptCard id={id} />
        </>
      )}
    </QueryResult>
  )
}
