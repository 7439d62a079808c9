"""Calls the eight endpoints with the client that openapi-python-client generates, and prints one fact of each reply."""

import json
import sys

from generated import AuthenticatedClient
from generated.api.explorer import explorer_api, explorer_label_list_v1
from generated.api.fx import fx_create_quote
from generated.api.markets import markets_by_slug
from generated.api.validators import (
    validators_aggregate_effectiveness,
    validators_effectiveness,
    validators_metadata,
)
from generated.models import (
    AmountInput,
    ExplorerApiAction,
    ExplorerApiModule,
    ExplorerLabelListV1Action,
    ExplorerLabelListV1Module,
    FxCreateQuoteBody,
    FxCreateQuoteBodyTenor,
    FxCreateQuoteBodyType,
)

base, key, address, slug = sys.argv[1:]
client = AuthenticatedClient(base_url=base, token=key, raise_on_unexpected_status=True)
# The key of the explorer is a query parameter.
explorer = client.with_headers({})
explorer.get_httpx_client().params = {"apikey": key}

labels = explorer_api.sync(
    client=explorer, module=ExplorerApiModule.NAMETAG, action=ExplorerApiAction.GETLABELMASTERLIST
)
labels_v1 = explorer_label_list_v1.sync(
    client=explorer,
    module=ExplorerLabelListV1Module.NAMETAG,
    action=ExplorerLabelListV1Action.GETLABELMASTERLIST,
)
funded = explorer_api.sync(
    client=explorer,
    module=ExplorerApiModule.ACCOUNT,
    action=ExplorerApiAction.FUNDEDBY,
    address=address,
)
quote = fx_create_quote.sync(
    client=client,
    body=FxCreateQuoteBody(
        from_=AmountInput(currency="USDC", amount="1000.00"),
        to=AmountInput(currency="EURC"),
        tenor=FxCreateQuoteBodyTenor.INSTANT,
        type_=FxCreateQuoteBodyType.REFERENCE,
    ),
)
aggregate = validators_aggregate_effectiveness.sync(client=client, indices=[12, 34], size=2)
days = validators_effectiveness.sync("12", client=client, limit=3)
metadata = validators_metadata.sync("12", client=client)
market = markets_by_slug.sync(slug, client=client)

facts = {
    "labelListV2": labels.result[0].labelslug,
    "labelListV1": labels_v1.result[0].labelslug,
    "fundedBy": funded.result.funding_address,
    "createQuote": quote.from_.amount,
    "aggregateEffectiveness": aggregate.data[1].validator_index,
    "effectiveness": days.results[2].day,
    "metadata": metadata.validator_pubkey,
    "bySlug": market.question,
}
print(json.dumps(facts))
