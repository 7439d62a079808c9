// A link to the page of an address.
import { hrefOf } from '../route.ts'
import { shortenHex } from './format.ts'

interface AddressLinkProps {
  readonly chain: string
  readonly address: string
  readonly isFull?: boolean
}

export const AddressLink = ({ chain, address, isFull = false }: AddressLinkProps) => (
  <a className="mono" href={hrefOf('explorer', [chain, address])} title={address}>
    {isFull ? address : shortenHex(address)}
  </a>
)
