// The form to request a quote, the quote next to it, and the rates of the pair below.
import { useMutation } from '@tanstack/preact-query'
import { type ReactNode, useState } from 'preact/compat'
import type { ReplyOf } from '#api/client/client.ts'
import { Card } from '../../parts/card.tsx'
import { Choice, Form, Submit, TextField } from '../../parts/controls.tsx'
import { Failure, QueryResult } from '../../parts/query-result.tsx'
import { go } from '../../route.ts'
import { useConsoleContext } from '../../session.tsx'
import { useEndpoint } from '../../use-endpoint.ts'
import { RateHistory } from './rate-history.tsx'
import type { Wallets } from './use-wallets.ts'
import { requestAccount } from './wallet.ts'
import { WalletChoice } from './wallet-choice.tsx'

/** Nobody has the key of this address. It is an example for browsers without a wallet. */
const burnAddress = `0x${'0'.repeat(36)}dEaD`

type Side = 'from' | 'to'
type Tenor = 'instant' | 'hourly' | 'daily'

interface RequestQuoteProps {
  readonly wallets: Wallets
  /** The quote, next to the form. */
  readonly quote: ReactNode
  /** Whether the next step is to request a quote. */
  readonly isNext: boolean
  /** Between the form and the rates. */
  readonly children?: ReactNode
}

export function RequestQuote(props: RequestQuoteProps) {
  const currencies = useEndpoint('fx.currencies', {})
  return (
    <QueryResult of={currencies} waiting="Loading currencies…">
      {({ reply }) => <QuoteForm currencies={reply.currencies} tenors={reply.tenors} {...props} />}
    </QueryResult>
  )
}

interface QuoteFormProps extends RequestQuoteProps {
  readonly currencies: ReplyOf<'fx.currencies'>['currencies']
  readonly tenors: readonly Tenor[]
}

function QuoteForm({ currencies, tenors, wallets, quote, isNext, children }: QuoteFormProps) {
  const { wallet } = wallets
  const codes = currencies.map(({ currency }) => currency)
  const tracked = (code: string) => currencies.find(({ currency }) => currency === code)?.tracks ?? code
  const { client, session } = useConsoleContext()
  const [from, setFrom] = useState(codes[0] ?? '')
  const [to, setTo] = useState(codes[1] ?? '')
  const [amountSide, setAmountSide] = useState<Side>('from')
  const [amount, setAmount] = useState('1000')
  const [tenor, setTenor] = useState<Tenor>(tenors[0] ?? 'instant')
  const [type, setType] = useState<'tradable' | 'reference'>('tradable')
  // A quote of the demo cannot be settled, so an example is enough.
  const [recipient, setRecipient] = useState(session.demoKey === undefined ? '' : burnAddress)
  const create = useMutation({
    mutationFn: () =>
      client.fx.createQuote({
        from: { currency: from, ...(amountSide === 'from' && { amount }) },
        to: { currency: to, ...(amountSide === 'to' && { amount }) },
        tenor,
        type,
        ...(type === 'tradable' && { recipientAddress: recipient }),
        // A request that is sent again over a slow network must not create a second quote.
        idempotencyKey: crypto.randomUUID(),
      }),
    onSuccess: ({ id }) => go('fx', [id]),
  })
  const fillWalletAddress = useMutation({
    mutationFn: async () => wallet && requestAccount(wallet.provider),
    onSuccess: (account) => setRecipient(account ?? ''),
  })
  const error = create.error ?? fillWalletAddress.error
  /** Only the error of the last action is shown. */
  const run = (action: typeof create | typeof fillWalletAddress) => {
    create.reset()
    fillWalletAddress.reset()
    action.mutate()
  }
  return (
    <>
      <div className="cards">
        <Card id="ask" title="Request a quote">
          <Form onSubmit={() => run(create)}>
            <div className="fields">
              <Choice label="You pay" value={from} options={codes} onChoose={setFrom} />
              <Choice label="You receive" value={to} options={codes} onChoose={setTo} />
              <TextField
                label="Amount"
                inputMode="decimal"
                value={amount}
                onText={(text) => setAmount(text.trim())}
                required
                pattern="\d+(\.\d{1,6})?"
                title="A number with up to six decimals"
              />
              <Choice
                label="Amount is"
                value={amountSide}
                options={['from', 'to']}
                labels={(side) => (side === 'from' ? 'what you pay' : 'what you receive')}
                onChoose={setAmountSide}
              />
              <Choice label="Settlement" value={tenor} options={tenors} onChoose={setTenor} />
              <Choice
                label="Type"
                value={type}
                options={['tradable', 'reference']}
                labels={(option) => (option === 'tradable' ? 'tradable' : 'price only')}
                onChoose={setType}
              />
            </div>
            {type === 'tradable' && (
              <div className="row spaced">
                <TextField
                  isWide
                  label="Recipient address"
                  className="mono"
                  value={recipient}
                  onText={(text) => setRecipient(text.trim())}
                  required
                  pattern="0x[0-9a-fA-F]{40}"
                  placeholder="0x…"
                  title="0x followed by 40 hexadecimal digits"
                />
                <WalletChoice wallets={wallets} />
                {wallet ? (
                  <button type="button" onClick={() => run(fillWalletAddress)}>
                    Use my wallet address
                  </button>
                ) : (
                  <button type="button" onClick={() => setRecipient(burnAddress)}>
                    Use an example
                  </button>
                )}
              </div>
            )}
            <p>
              <Submit isMain={isNext} disabled={create.isPending}>
                {create.isPending ? 'Requesting…' : 'Get quote'}
              </Submit>
            </p>
          </Form>
          {error && <Failure error={error} />}
        </Card>
        {quote}
      </div>
      {children}
      <RateHistory base={tracked(from)} quote={tracked(to)} />
    </>
  )
}
