// FX: from a question to a price, from a price to a signature, from a signature to the reason why it is good or not.
// The quote's id is in the address, so that a quote can be come back to.

import { useAsk } from '../calls.ts'
import { Answer } from '../parts/answer.tsx'
import { usePass } from '../pass.tsx'
import type { Place } from '../place.ts'
import { AskForQuote } from './fx/ask-for-quote.tsx'
import { CheckSignature } from './fx/check-signature.tsx'
import { QuoteCard } from './fx/quote-card.tsx'
import { ReceiptCard } from './fx/receipt-card.tsx'
import { TypedDataCard } from './fx/typed-data-card.tsx'

export function Fx({ place }: { readonly place: Place }) {
  const [id] = place.parts
  const { key } = usePass()
  return (
    <>
      <h1>FX</h1>
      <p className="lead">
        Ask for a quote, see how it was priced, sign it with your wallet, and have the signature checked.
      </p>
      {key === '' ? (
        <div className="note warn">Quotes need a key: set one at the side of the page.</div>
      ) : (
        <AskForQuote />
      )}
      {id !== undefined && key !== '' && <Standing key={id} id={id} signature={place.query.get('signature') ?? ''} />}
    </>
  )
}

function Standing({ id, signature }: { readonly id: string; readonly signature: string }) {
  const quote = useAsk('fx.quote', { id })
  return (
    <Answer of={quote} waiting="Reading the quote…" nothing="There is no such quote for this key.">
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
    </Answer>
  )
}
