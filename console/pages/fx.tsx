// FX: from a question to a price, from a price to a signature, from a signature to the reason why it is good or not.
// The quote's id is in the address, so that a quote can be come back to.

import { useEndpoint } from '../calls.ts'
import { noKeyYet } from '../parts/failures.ts'
import { QueryResult } from '../parts/query-result.tsx'
import type { PageRoute } from '../route.ts'
import { useConsoleContext } from '../session.tsx'
import { AskForQuote } from './fx/ask-for-quote.tsx'
import { CheckSignature } from './fx/check-signature.tsx'
import { QuoteCard } from './fx/quote-card.tsx'
import { ReceiptCard } from './fx/receipt-card.tsx'
import { TypedDataCard } from './fx/typed-data-card.tsx'

const quoteId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const exampleQuoteId = '6f1c0a52-7f6e-4c1a-9b0e-0d8f2f3a4b5c'

export function Fx({ place }: { readonly place: PageRoute }) {
  const [id] = place.parts
  const { key } = useConsoleContext()
  return (
    <>
      <h1>FX</h1>
      <p className="lead">
        Ask for a quote, see how it was priced, sign it with your wallet, and have the signature checked.
      </p>
      {id !== undefined && !quoteId.test(id) && (
        <div role="alert" className="note">
          <code>{id}</code> is not the id of a quote. An id has 36 characters, as in <code>{exampleQuoteId}</code>: it
          stands in the reply that made the quote. Or ask for a new one here.
        </div>
      )}
      {key === '' ? <div className="note warn">{noKeyYet}</div> : <AskForQuote />}
      {id !== undefined && quoteId.test(id) && key !== '' && (
        <QuoteDetails key={id} id={id} signature={place.query.get('signature') ?? ''} />
      )}
    </>
  )
}

function QuoteDetails({ id, signature }: { readonly id: string; readonly signature: string }) {
  const quote = useEndpoint('fx.quote', { id })
  return (
    <QueryResult
      of={quote}
      waiting="Reading the quote…"
      notFound={
        <>
          There is no quote <code>{id}</code> for this key: a quote is shown only to the key that asked for it.
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
