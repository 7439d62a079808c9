// The FX page: request a quote, see how it was priced, sign it with a wallet and check a signature. The id of the quote is
// in the address, so that you can return to it.
import type { StoredQuote } from '#shared/console-calls.ts'
import { operator } from '../operator.ts'
import { Card } from '../parts/card.tsx'
import { DemoKeyButton } from '../parts/demo.tsx'
import { noKeyYet } from '../parts/failures.ts'
import { QueryResult } from '../parts/query-result.tsx'
import { hrefOf, type PageProps } from '../route.ts'
import { useRemember } from '../search/recent.ts'
import { RecentLinks } from '../search/recent-links.tsx'
import { useConsoleContext } from '../session.tsx'
import { type Calling, useCalls } from '../use-endpoint.ts'
import { CheckSignature } from './fx/check-signature.tsx'
import { QuoteCard } from './fx/quote-card.tsx'
import { QuoteList } from './fx/quote-list.tsx'
import { ReceiptCard } from './fx/receipt-card.tsx'
import { RequestQuote } from './fx/request-quote.tsx'
import { SignQuote } from './fx/sign-quote.tsx'
import { SignedQuote } from './fx/signed-quote.tsx'
import { TypedDataCard } from './fx/typed-data-card.tsx'
import { useIsPast } from './fx/use-is-past.ts'
import { useWallets } from './fx/use-wallets.ts'
import './fx/fx.css'

const quoteIdPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const exampleQuoteId = '6f1c0a52-7f6e-4c1a-9b0e-0d8f2f3a4b5c'

export function Fx({ route }: PageProps) {
  const [id] = route.parts
  const quoteId = id !== undefined && quoteIdPattern.test(id) ? id : undefined
  const { key, session } = useConsoleContext()
  return (
    <>
      <h1>FX</h1>
      <p className="lead">Request a quote, see how it was priced, sign it with your wallet, and check a signature.</p>
      {id !== quoteId && (
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
        <FormAndQuote id={quoteId} query={route.query} />
      )}
      {id === undefined && <RecentLinks page="fx" />}
      {id === undefined && session.signedIn && <QuoteList />}
    </>
  )
}

/** A quote with its receipt: by the key that created it, or by the operator's session, which may read all quotes. */
function useQuote(id: string | undefined) {
  const { signedIn } = useConsoleContext().session
  const call = async ({ client, signal }: Calling): Promise<StoredQuote> => {
    const input = { id: id ?? '' }
    if (signedIn) return operator.quote(input.id)
    const [quote, receipt] = await Promise.all([
      client.fx.quote(input, { signal }),
      client.fx.receipt(input, { signal }),
    ])
    return { quote, receipt }
  }
  return useCalls(['quote', id, signedIn], call, { isEnabled: id !== undefined })
}

interface FormAndQuoteProps {
  /** The quote in the address. */
  readonly id: string | undefined
  readonly query: URLSearchParams
}

/** The form keeps its fields when the quote changes, so that one click requests the same quote again. */
function FormAndQuote({ id, query }: FormAndQuoteProps) {
  const wallets = useWallets()
  const stored = useQuote(id)
  const { quote, receipt } = stored.data ?? {}
  const { typedData } = quote ?? {}
  const [signature, signer] = [query.get('signature') ?? '', query.get('signer') ?? '']
  useRemember(
    quote && {
      kind: 'Quote',
      label: `${quote.from.amount} ${quote.from.currency} to ${quote.to.currency}`,
      href: hrefOf('fx', [quote.id]),
    },
  )
  const isSigned = signature !== ''
  const isExpired = useIsPast(quote?.expiresAt)
  const check = quote && typedData && <CheckSignature key={quote.id} id={quote.id} />
  const shownQuote =
    id === undefined ? (
      <Card id="no-quote" title="No quote yet">
        <p className="soft">Your quote appears here: what you pay, what arrives, and how long it is valid.</p>
      </Card>
    ) : quote ? (
      <QuoteCard key={quote.id} quote={quote}>
        <SignQuote {...{ quote, wallets, isSigned, isExpired }} />
      </QuoteCard>
    ) : (
      <Card id="quote" title="Quote">
        <QueryResult of={stored} waiting="Loading the quote…" notFound={<QuoteNotFound id={id} />}>
          {() => null}
        </QueryResult>
      </Card>
    )
  return (
    <>
      <RequestQuote wallets={wallets} quote={shownQuote} isNext={!typedData || (isExpired && !isSigned)}>
        {quote && typedData && isSigned && (
          <>
            <SignedQuote key={signature} {...{ quote, typedData, signature, signer }} />
            {check}
          </>
        )}
      </RequestQuote>
      {quote && typedData && <TypedDataCard quote={quote} typedData={typedData} />}
      {!isSigned && check}
      {receipt && <ReceiptCard signed={receipt} />}
    </>
  )
}

const QuoteNotFound = ({ id }: { readonly id: string }) => (
  <>
    Quote <code>{id}</code> does not exist for this key. Only the key that created a quote can read it, and the
    operator.
  </>
)
