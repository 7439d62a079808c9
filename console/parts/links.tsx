// Links in a sentence, separated by commas.
import { Fragment } from 'preact/compat'

interface LinksProps {
  readonly of: readonly { readonly label: string; readonly href: string }[]
}

export const Links = ({ of }: LinksProps) => (
  <>
    {of.map(({ label, href }, at) => (
      <Fragment key={href}>
        {at > 0 && ', '}
        <a href={href}>{label}</a>
      </Fragment>
    ))}
  </>
)
