// The form to request a quote.
import { useMutation } from '@tanstack/preact-query'
import { useState } from 'preact/compat'
import type { ReplyOf } from '#api/client.ts'
import { Card } from '../../parts/card.tsx'
import { Choice, Form, Submit, TextField } from '../../parts/controls.tsx'
import { Failure, QueryResult } from '../../parts/query-result.tsx'
import { go } from '../../route.ts'
import { useConsoleContext } from '../../session.tsx'
import { useEndpoint } from '../../use-endpoint.ts'
import { RateHistory } from './rate-history.tsx'
import { hasWallet, requestAccount } from './wallet.ts'

/** Nobody has the key of this address. It is an example for browsers without a wallet. */
const burnAddress = `0x${'0'.repeat(36)}dEaD`

type Side = 'from' | 'to'
type Tenor = 'instant' | 'hourly' | 'daily'

export function RequestQuote() {
  const currencies = useEndpoint('fx.currencies', {})
  return (
    <QueryResult of={currencies} waiting="Loading currencies…">
      {({ reply }) => <QuoteForm currencies={reply.currencies} tenors={reply.tenors} />}
    </QueryResult>
  )
}

interface QuoteFormProps {
  readonly currencies: ReplyOf<'fx.currencies'>['currencies']
  readonly tenors: readonly Tenor[]
}

function QuoteForm({ currencies, tenors }: QuoteFormProps) {
  const codes = currencies.map(({ currency }) => currency)
  const tracked = (code: string) => currencies.find(({ currency }) => currency === code)?.tracks ?? code
  const { client } = useConsoleContext()
  const [from, setFrom] = useState(codes[0] ?? '')
  const [to, setTo] = useState(codes[1] ?? '')
  const [amountSide, setAmountSide] = useState<Side>('from')
  const [amount, setAmount] = useState('1000')
  const [tenor, setTenor] = useState<Tenor>(tenors[0] ?? 'instant')
  const [type, setType] = useState<'tradable' | 'reference'>('tradable')
  const [recipient, setRecipient] = useState('')
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
  const fillWalletAddress = useMutation({ mutationFn: requestAccount, onSuccess: setRecipient })
  const error = create.error ?? fillWalletAddress.error
  /** Only the error of the last action is shown. */
  const run = (action: typeof create | typeof fillWalletAddress) => {
    create.reset()
    fillWalletAddress.reset()
    action.mutate()
  }
  return (
    <>
      <Card id="ask" title="Request a quote">
        <Form onSubmit={() => run(create)}>
          <div className="row">
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
              labels={(option) => (option === 'tradable' ? 'tradable (you sign it)' : 'reference (price only)')}
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
              {hasWallet() ? (
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
            <Submit disabled={create.isPending}>{create.isPending ? 'Requesting…' : 'Get quote'}</Submit>
          </p>
        </Form>
        {error && <Failure error={error} />}
      </Card>
      <RateHistory base={tracked(from)} quote={tracked(to)} />
    </>
  )
}
