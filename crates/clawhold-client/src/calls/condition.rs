//! Calls about conditions.

use clawhold_api::automation::condition::{
    CheckCondition, CheckedCondition, ConditionFields, ExplainCondition, ExplainedCondition,
};
use clawhold_api::routes::automation as routes;

use crate::call::Call;
use crate::error::ClientError;
use crate::transport::Client;

impl Client {
    /// Checks a condition.
    ///
    /// # Errors
    /// As every call; `bad_condition` when it is wrong.
    pub async fn check_condition(
        &self,
        check: &CheckCondition,
    ) -> Result<CheckedCondition, ClientError> {
        Ok(self.post(routes::CONDITION_CHECK, check).await?.reply)
    }

    /// Lists the fields that conditions may read.
    ///
    /// # Errors
    /// As every call.
    pub async fn condition_fields(&self) -> Result<ConditionFields, ClientError> {
        self.read(&Call::get(routes::CONDITION_FIELDS, "")).await
    }

    /// Tells what a condition says of each target, and why.
    ///
    /// # Errors
    /// As every call; `bad_condition` when it is wrong.
    pub async fn explain_condition(
        &self,
        explain: &ExplainCondition,
    ) -> Result<ExplainedCondition, ClientError> {
        Ok(self.post(routes::CONDITION_EXPLAIN, explain).await?.reply)
    }
}
