// The button to sign a quote with a wallet. The signature goes into the address.
import { useMutation } from '@tanstack/preact-query'
import type { Quote } from '#api/contract/wire/fx.ts'
import { Failure } from '../../parts/query-result.tsx'
import { go } from '../../route.ts'
import type { Wallets } from './use-wallets.ts'
import { signInWallet } from './wallet.ts'
import { WalletChoice } from './wallet-choice.tsx'

interface SignQuoteProps {
  readonly quote: Quote
  readonly wallets: Wallets
  readonly isSigned: boolean
  readonly isExpired: boolean
}

export function SignQuote({ quote, wallets, isSigned, isExpired }: SignQuoteProps) {
  const { wallet } = wallets
  const { typedData } = quote
  const sign = useMutation({
    mutationFn: async () => wallet && typedData && signInWallet(wallet.provider, typedData),
    onSuccess: (signed) => signed && go('fx', [quote.id], signed),
  })
  if (!typedData) return <p className="soft">A reference quote is a price only. There is nothing to sign.</p>
  if (isExpired)
    return isSigned ? null : (
      <p className="note warn" role="status">
        This quote has expired, so it can no longer be signed. Get a new one.
      </p>
    )
  if (!wallet)
    return (
      <p className="soft">
        No wallet found in this browser. Sign the typed data below with another wallet, and check the signature there.
      </p>
    )
  return (
    <>
      <div className="row">
        <WalletChoice wallets={wallets} />
        <button
          type="button"
          className={isSigned ? undefined : 'main'}
          onClick={() => sign.mutate()}
          disabled={sign.isPending}
        >
          {sign.isPending ? 'Waiting for the wallet…' : `Sign with ${wallet.name}`}
        </button>
      </div>
      {sign.error && <Failure error={sign.error} />}
    </>
  )
}
