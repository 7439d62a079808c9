// The receipt of a quote: the rates, mid, spread and fee behind the price, signed by the server.
import type { SignedReceipt } from '#api/contract/wire/fx-extensions.ts'
import { Card } from '../../parts/card.tsx'
import { Copyable } from '../../parts/copyable.tsx'
import { Facts, Mono } from '../../parts/facts.tsx'
import { alignDecimals, divideIntegers as divide, formatTime } from '../../parts/format.ts'
import { Table } from '../../parts/table.tsx'

/** Parts per million as basis points, exactly. */
const bps = (ppm: number): string => `${ppm / 100} bp`

export function ReceiptCard({ signed }: { readonly signed: SignedReceipt }) {
  const { receipt, signature } = signed
  const { mid, terms } = receipt
  const rates = [
    ...receipt.rates.map((rate) => ({ ...rate, used: true })),
    ...receipt.excluded.map((rate) => ({ ...rate, used: false })),
  ]
  const texts = alignDecimals(rates.map(({ rate }) => rate))
  return (
    <Card id="receipt" title="Price receipt">
      <Table
        name="Rates behind the price"
        className="stacked"
        rows={rates}
        columns={[
          ['Source', ({ source }) => source],
          ['Pair', ({ base, quote }) => `${base}/${quote}`],
          ['Rate', (_rate, row) => <Mono text={texts[row] ?? ''} />, 'num'],
          ['Time', ({ at }) => formatTime(at), 'nowrap'],
          ['Used', ({ used }) => (used ? 'yes' : <span className="warn">no: too far from the other sources</span>)],
        ]}
      />
      <Facts
        className="spaced"
        of={{
          'Mid rate': (
            <>
              <Mono text={divide(mid.numerator, mid.denominator)} />{' '}
              <span className="soft">
                {receipt.quote.to.currency} per {receipt.quote.from.currency}
              </span>
              {receipt.via !== null && <span className="soft"> via {receipt.via}</span>}
            </>
          ),
          Spread: `${bps(terms.spreadPpm)} from the mid rate`,
          Fee: bps(terms.feePpm),
          'Exact rate': <Mono text={receipt.quote.rate} />,
          'Signed by': (
            <>
              key <code>{signature.keyId}</code> (Ed25519)
            </>
          ),
        }}
      />
      <details>
        <summary>Show the signed receipt</summary>
        <p className="soft small">
          Verify it without this server: <code>tetrad fx verify-receipt receipt.json</code>
        </p>
        <Copyable title="receipt.json" text={JSON.stringify(signed, null, 2)} />
      </details>
    </Card>
  )
}
